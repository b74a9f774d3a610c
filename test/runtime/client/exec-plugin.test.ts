/**
 * Exec plugins, and what else of a kubeconfig user has to be run or is refused.
 */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { Credentials } from '../../../src/runtime/client/credentials.ts';
import { type CompleteUser, KubeConfigError } from '../../../src/runtime/client/kubeconfig-entries.ts';
import { until } from '../../fake/until.ts';
import { authority, CredentialsRig, minute } from './credentials-rig.ts';

let rig: CredentialsRig;
beforeEach(async () => {
  rig = await CredentialsRig.start();
});
afterEach(() => rig.stop());

/** A user as loadKubeConfig makes it of one with a plugin. */
function execUser(exec: object): Omit<CompleteUser, 'name'> {
  return { exec, execEnvironment: { PATH: process.env.PATH, INHERITED: 'yes' } };
}

/** An exec plugin whose token is the content of the file `token`; it notes each run in the file `runs`. */
function plugin(): {
  user: Omit<CompleteUser, 'name'>;
  runs: () => number;
  setToken: (token: string, expirationTimestamp?: string) => void;
} {
  const runs = rig.file('runs', '');
  const setToken = (token: string, expirationTimestamp?: string) => {
    const status = { token, expirationTimestamp };
    rig.file(
      'credential.json',
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }),
    );
  };
  const command = rig.file(
    'plugin.sh',
    `#!/bin/sh\necho run >> ${runs}\ncat ${join(rig.directory, 'credential.json')}\n`,
  );
  chmodSync(command, 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args: [] };
  return { user: execUser(exec), runs: () => readFileSync(runs, 'utf8').split('\n').length - 1, setToken };
}

describe('an exec plugin', () => {
  test('is run once for all who need it', async () => {
    const { user, runs, setToken } = plugin();
    setToken('secret');
    const api = rig.client(rig.kubeConfig(user));
    await Promise.all(Array.from({ length: 10 }, () => api.list(configMaps)));
    assert.equal(runs(), 1);
    assert.ok(rig.server.requests.every(({ headers }) => headers.authorization === 'Bearer secret'));
  });

  test('is run again when the server refuses its token, and at most every 5 s', async () => {
    const { user, runs, setToken } = plugin();
    setToken('old');
    const api = rig.client(rig.kubeConfig(user));
    await api.list(configMaps);
    rig.accepted = 'Bearer new';
    rig.clock.advance(5000);
    await assert.rejects(api.list(configMaps));
    await assert.rejects(api.list(configMaps));
    assert.equal(runs(), 2);
    setToken('new');
    rig.clock.advance(5000);
    await api.list(configMaps);
    assert.equal(runs(), 3);
  });

  test('is run anew when its token has expired, and no request waits for it', async () => {
    const { user, runs, setToken } = plugin();
    setToken('first', '2000-01-01T00:00:00Z');
    const credentials = new Credentials(rig.kubeConfig(user), rig.clock, rig.log);
    await credentials.refresh();
    setToken('second');
    rig.clock.advance(minute);
    assert.deepEqual(credentials.fresh?.headers, ['authorization', 'Bearer first']);
    await until(() => credentials.fresh?.headers[1] === 'Bearer second');
    assert.equal(runs(), 2);
    rig.clock.advance(2 * minute);
    assert.equal(credentials.fresh, undefined, 'after a long silence the old ones may have expired');
  });

  test('that fails is an error with what it said, until it has worked once', async () => {
    const { user, setToken } = plugin();
    const api = rig.client(rig.kubeConfig(user));
    await assert.rejects(api.list(configMaps), (error) => {
      return (
        error instanceof TransportError && !error.sent && /user u: .*credential\.json/.test(error.message)
      );
    });
    setToken('good', '2000-01-01T00:00:00Z');
    await api.list(configMaps);
    rmSync(join(rig.directory, 'credential.json'));
    for (let i = 0; i < 3; i++) {
      rig.clock.advance(minute);
      await api.list(configMaps);
    }
    await until(() => rig.logged.length > 0);
    setToken('good');
    rig.clock.advance(minute);
    await api.list(configMaps);
    await until(() => rig.logged.length > 1);
    assert.deepEqual(rig.logged, [
      'warn: the credentials cannot be read again; the last good ones stay in use',
      'info: the credentials can be read again',
    ]);
  });

  /** A plugin that prints a token, and notes what it was told. */
  function curious(exec: object = {}): Omit<CompleteUser, 'name'> {
    const status = JSON.stringify({ kind: 'ExecCredential', status: { token: 't' } });
    const told = ['info', 'env', 'stdin'].map((name) => join(rig.directory, name));
    const command = rig.file(
      'curious.sh',
      `#!/bin/sh\nprintf %s "$KUBERNETES_EXEC_INFO" > ${told[0]}\n` +
        `printf %s "$INHERITED $OWN" > ${told[1]}\ncat > ${told[2]}\necho '${status}'\n`,
    );
    chmodSync(command, 0o755);
    return execUser({ command, env: [{ name: 'OWN', value: 'too' }], ...exec });
  }
  const noted = (name: string) => readFileSync(join(rig.directory, name), 'utf8');

  test('is told what it is run for, inherits its environment, and has no standard input', async () => {
    await rig
      .client(rig.kubeConfig(curious({ apiVersion: 'client.authentication.k8s.io/v1beta1' })))
      .list(configMaps);
    assert.deepEqual(JSON.parse(noted('info')), {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      spec: { interactive: false },
    });
    assert.deepEqual([noted('env'), noted('stdin')], ['yes too', '']);
  });

  test('is told of the cluster where it asks for that', async () => {
    const cluster = { tlsServerName: 'api.internal', execConfig: { audience: 'x' } };
    await rig.client(rig.kubeConfig(curious({ provideClusterInfo: true }), cluster)).list(configMaps);
    assert.deepEqual(JSON.parse(noted('info')).spec, {
      cluster: {
        server: rig.server.url,
        'tls-server-name': 'api.internal',
        'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
        config: { audience: 'x' },
      },
      interactive: false,
    });
  });

  test('that is not installed is an error with the hint of how to install it', async () => {
    const user = execUser({ command: 'no-such-login', installHint: 'get it from example.com\nor elsewhere' });
    await assert.rejects(rig.client(rig.kubeConfig(user)).list(configMaps), (error) => {
      assert.ok(error instanceof TransportError && !error.sent);
      assert.match(
        error.message,
        /user u: the plugin no-such-login is not installed: get it from example\.com$/,
      );
      return true;
    });
  });

  for (const [title, printed, message] of [
    ['no ExecCredential', { status: { token: 's3cret' } }, /no ExecCredential/],
    ['null', null, /no ExecCredential/],
    ['no credentials', { kind: 'ExecCredential', status: { token: 7 } }, /gave no credentials/],
    [
      'a certificate alone',
      { kind: 'ExecCredential', status: { clientCertificateData: 's3cret' } },
      /without its key/,
    ],
  ] as const) {
    test(`that prints ${title} is an error`, async () => {
      const command = rig.file('odd.sh', `#!/bin/sh\necho '${JSON.stringify(printed)}'\n`);
      chmodSync(command, 0o755);
      await assert.rejects(rig.client(rig.kubeConfig(execUser({ command }))).list(configMaps), (error) => {
        assert.ok(error instanceof TransportError && !inspect(error).includes('s3cret'));
        assert.match(error.message, message);
        return true;
      });
    });
  }

  test('whose token expires at a time that is none is run again after a minute', async () => {
    const { user, runs, setToken } = plugin();
    setToken('first', 'soon');
    const credentials = new Credentials(rig.kubeConfig(user), rig.clock, rig.log);
    await credentials.refresh();
    assert.equal(runs(), 1);
    await credentials.refresh();
    assert.equal(runs(), 2);
  });

  test('that prints a bare token is an error that does not quote it', async () => {
    const command = rig.file('bare.sh', '#!/bin/sh\necho s3cret\n');
    chmodSync(command, 0o755);
    await assert.rejects(rig.client(rig.kubeConfig(execUser({ command }))).list(configMaps), (error) => {
      return (
        error instanceof TransportError &&
        /not JSON/.test(error.message) &&
        !inspect(error).includes('s3cret')
      );
    });
  });

  test('that never ends is started anew after a minute', async () => {
    const started = rig.file('pids', '');
    const command = rig.file('hang.sh', `#!/bin/sh\necho $$ >> ${started}\nexec sleep 60\n`);
    chmodSync(command, 0o755);
    const pids = () => readFileSync(started, 'utf8').trim().split('\n');
    const credentials = new Credentials(rig.kubeConfig(execUser({ command })), rig.clock, rig.log);
    const flights = [credentials.refresh(), credentials.refresh()];
    await until(() => pids()[0] !== '');
    rig.clock.advance(minute + 1);
    flights.push(credentials.refresh());
    for (const flight of flights) flight.catch(() => {});
    await until(() => pids().length === 2);
    const [first, second] = pids();
    // The first one is not left behind.
    await assert.rejects(flights[0] ?? Promise.resolve(), /SIGKILL/);
    assert.throws(() => process.kill(Number(first), 0), /ESRCH/);
    process.kill(Number(second), 'SIGKILL');
    await Promise.allSettled(flights);
  });
});

describe('refused at the start, with what to do instead', () => {
  for (const [title, user, message] of [
    ['OIDC without a token', { authProvider: { name: 'oidc', config: {} } }, /auth provider oidc/],
    [
      'OIDC',
      { authProvider: { name: 'oidc', config: { 'id-token': 's3cret', 'refresh-token': 'r' } } },
      /auth provider oidc,.*kubelogin/,
    ],
    [
      'gcp',
      { authProvider: { name: 'gcp', config: { 'cmd-path': 'x' } } },
      /auth provider gcp,.*gke-gcloud-auth-plugin/,
    ],
    ['azure', { authProvider: { name: 'azure', config: {} } }, /auth provider azure,.*kubelogin of Azure/],
    ['any other', { authProvider: { name: 'openstack' } }, /auth provider openstack,.*one of your provider/],
    [
      'a plugin that asks',
      execUser({ command: 'x', interactiveMode: 'Always' }),
      /user .* needs standard input \(interactiveMode: Always\), which no plugin gets here; use one that works without it$/,
    ],
    [
      'a plugin of an old version',
      execUser({ command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' }),
      /v1 is needed/,
    ],
    ['a plugin without a command', execUser({}), /has no command/],
    ['a plugin without its environment', { exec: { command: 'x' } }, /was not read by loadKubeConfig/],
  ] as const) {
    test(title, () => {
      assert.throws(
        () => rig.client(rig.kubeConfig(user)),
        (error) => {
          assert.ok(error instanceof KubeConfigError && !error.message.includes('s3cret'), String(error));
          assert.match(error.message, /kubeconfig user u /);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});
