/**
 * Credentials that rotate, are refused, or come from plugins, against servers that check them over TLS.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { createAuthority } from '../../../local-cluster/pki.ts';
import { configMaps } from '../../../src/api/kubernetes.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import { Credentials } from '../../../src/runtime/client/credentials.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { FakeClock } from '../../fake/clock.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

const minute = 60_000;
const authority = await createAuthority('ca');
const serving = await authority.issue({ name: 'server', hosts: ['127.0.0.1', 'api.internal'] });

let directory: string;
let clock: FakeClock;
let server: FakeApiServer;
/** The Authorization headers that the server lets in; undefined: anything. */
let accepted: string | undefined;
/** Common names of the client certificates, in the order of the requests. */
let peers: (string | undefined)[];
let logged: string[];
const recording: Logger = {
  ...silentLogger,
  info: (...args: unknown[]) => logged.push(`info: ${args.at(-1)}`),
  warn: (...args: unknown[]) => logged.push(`warn: ${args.at(-1)}`),
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'credentials-'));
  clock = new FakeClock();
  accepted = undefined;
  peers = [];
  logged = [];
  server = await FakeApiServer.start({
    tls: { key: serving.key, cert: serving.certificate, clientCa: authority.certificate },
    authenticate: ({ headers, socket }: IncomingMessage) => {
      if (socket instanceof TLSSocket) peers.push(socket.getPeerCertificate().subject?.CN?.toString());
      return accepted === undefined || headers.authorization === accepted;
    },
  });
});
afterEach(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function kubeConfig(user: Omit<User, 'name'> = {}, cluster: Partial<Cluster> = {}): KubeConfig {
  const config = new KubeConfig();
  const trusted = {
    name: 'c',
    server: server.url,
    skipTLSVerify: false,
    caFile: file('ca.crt', authority.certificate),
  };
  config.loadFromClusterAndUser({ ...trusted, ...cluster }, { name: 'u', ...user });
  return config;
}

function client(config: KubeConfig) {
  return connectTo(server, { kubeConfig: config, clock, log: recording }).client;
}

/** An exec plugin whose token is the content of the file `token`; it notes each run in the file `runs`. */
function plugin(): {
  user: Omit<User, 'name'>;
  runs: () => number;
  setToken: (token: string, expirationTimestamp?: string) => void;
} {
  const runs = file('runs', '');
  const setToken = (token: string, expirationTimestamp?: string) => {
    const status = { token, expirationTimestamp };
    file(
      'credential.json',
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }),
    );
  };
  const command = file(
    'plugin.sh',
    `#!/bin/sh\necho run >> ${runs}\ncat ${join(directory, 'credential.json')}\n`,
  );
  chmodSync(command, 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args: [] };
  return { user: { exec }, runs: () => readFileSync(runs, 'utf8').split('\n').length - 1, setToken };
}

describe('a token file', () => {
  const provider = (tokenFile: string) => ({ authProvider: { name: 'tokenFile', config: { tokenFile } } });

  test('is read again after a minute, not before', async () => {
    const path = file('token', 'first\n');
    const api = client(kubeConfig(provider(path)));
    const sent = async () => {
      await api.list(configMaps);
      return server.requests.at(-1)?.headers.authorization;
    };
    assert.equal(await sent(), 'Bearer first');
    file('token', 'second');
    clock.advance(minute - 1);
    assert.equal(await sent(), 'Bearer first');
    clock.advance(1);
    assert.equal(await sent(), 'Bearer second');
    assert.equal(server.connections.opened, 1, 'a new token needs no new connection');
  });

  test('is read again at once when the server refuses the token, and the request repeated', async () => {
    const path = file('token', 'old');
    const api = client(kubeConfig(provider(path)));
    await api.list(configMaps);
    file('token', 'new');
    accepted = 'Bearer new';
    clock.advance(10_000);
    await api.create(configMaps, { metadata: { namespace: 'n', name: 'a' } });
    assert.deepEqual(
      server.requests.map(({ code }) => code),
      [200, 401, 201],
    );
  });

  test('that has not changed is not sent again, and not read for each refusal', async () => {
    const api = client(kubeConfig(provider(file('token', 'revoked'))));
    accepted = 'Bearer other';
    clock.advance(10_000);
    for (let i = 0; i < 3; i++) {
      await assert.rejects(api.list(configMaps), (error) => error instanceof ApiError && error.code === 401);
    }
    assert.equal(server.requests.length, 3);
  });

  test('that is just being written leaves the last good one', async () => {
    const credentials = new Credentials(kubeConfig(provider(file('token', 'good'))), clock, recording);
    await credentials.refresh();
    file('token', '');
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer good']);
    rmSync(join(directory, 'token'));
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer good']);
    file('token', 'new');
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer new']);
    const begins = 'warn: the credentials cannot be read again; the last good ones stay in use';
    assert.deepEqual(logged, [begins, begins, 'info: the credentials can be read again']);
  });

  test('that never was there is an error that names it, and nothing is sent', async () => {
    const path = join(directory, 'missing');
    await assert.rejects(client(kubeConfig(provider(path))).list(configMaps), (error) => {
      return error instanceof TransportError && !error.sent && error.message.includes(path);
    });
  });
});

describe('an exec plugin', () => {
  test('is run once for all who need it', async () => {
    const { user, runs, setToken } = plugin();
    setToken('secret');
    const api = client(kubeConfig(user));
    await Promise.all(Array.from({ length: 10 }, () => api.list(configMaps)));
    assert.equal(runs(), 1);
    assert.ok(server.requests.every(({ headers }) => headers.authorization === 'Bearer secret'));
  });

  test('is run again when the server refuses its token, and at most every 5 s', async () => {
    const { user, runs, setToken } = plugin();
    setToken('old');
    const api = client(kubeConfig(user));
    await api.list(configMaps);
    accepted = 'Bearer new';
    clock.advance(5000);
    await assert.rejects(api.list(configMaps));
    await assert.rejects(api.list(configMaps));
    assert.equal(runs(), 2);
    setToken('new');
    clock.advance(5000);
    await api.list(configMaps);
    assert.equal(runs(), 3);
  });

  test('is run anew when its token has expired, and nobody waits for it', async () => {
    const { user, runs, setToken } = plugin();
    setToken('first', '2000-01-01T00:00:00Z');
    const credentials = new Credentials(kubeConfig(user), clock, recording);
    await credentials.refresh();
    setToken('second');
    clock.advance(minute);
    assert.deepEqual(credentials.fresh?.headers, ['authorization', 'Bearer first']);
    await until(() => credentials.fresh?.headers[1] === 'Bearer second');
    assert.equal(runs(), 2);
    clock.advance(2 * minute);
    assert.equal(credentials.fresh, undefined, 'after a long silence the old ones may have expired');
  });

  test('that fails is an error with what it said, until it has worked once', async () => {
    const { user, setToken } = plugin();
    const api = client(kubeConfig(user));
    await assert.rejects(api.list(configMaps), (error) => {
      return (
        error instanceof TransportError && !error.sent && /user u: .*credential\.json/.test(error.message)
      );
    });
    setToken('good', '2000-01-01T00:00:00Z');
    await api.list(configMaps);
    rmSync(join(directory, 'credential.json'));
    for (let i = 0; i < 3; i++) {
      clock.advance(minute);
      await api.list(configMaps);
    }
    await until(() => logged.length > 0);
    setToken('good');
    clock.advance(minute);
    await api.list(configMaps);
    await until(() => logged.length > 1);
    assert.deepEqual(logged, [
      'warn: the credentials cannot be read again; the last good ones stay in use',
      'info: the credentials can be read again',
    ]);
  });

  test('that prints a bare token is an error that does not quote it', async () => {
    const command = file('bare.sh', '#!/bin/sh\necho s3cret\n');
    chmodSync(command, 0o755);
    await assert.rejects(client(kubeConfig({ exec: { command, args: [] } })).list(configMaps), (error) => {
      return (
        error instanceof TransportError &&
        /not JSON/.test(error.message) &&
        !inspect(error).includes('s3cret')
      );
    });
  });

  test('that never ends is started anew after a minute', async () => {
    const started = file('pids', '');
    const command = file('hang.sh', `#!/bin/sh\necho $$ >> ${started}\nexec sleep 60\n`);
    chmodSync(command, 0o755);
    const pids = () => readFileSync(started, 'utf8').trim().split('\n');
    const credentials = new Credentials(kubeConfig({ exec: { command, args: [] } }), clock, recording);
    const flights = [credentials.refresh(), credentials.refresh()];
    clock.advance(minute + 1);
    flights.push(credentials.refresh());
    for (const flight of flights) flight.catch(() => {});
    await until(() => pids().length === 2);
    for (const pid of pids()) process.kill(Number(pid), 'SIGKILL');
    await Promise.allSettled(flights);
  });
});

describe('TLS', () => {
  test('a new client certificate is used for new connections, and the old ones are left', async () => {
    const issue = async (name: string) => {
      const { key, certificate } = await authority.issue({ name });
      return { certFile: file('client.crt', certificate), keyFile: file('client.key', key) };
    };
    const api = client(kubeConfig(await issue('first')));
    await api.list(configMaps);
    await issue('second');
    clock.advance(minute);
    await api.list(configMaps);
    await api.list(configMaps);
    assert.deepEqual(peers, ['first', 'second', 'second']);
    assert.equal(server.connections.opened, 2);
    await until(() => server.connections.open === 1);
  });

  test('a new CA is trusted after a minute', async () => {
    const other = await createAuthority('other');
    const config = kubeConfig({}, { caFile: file('bundle.crt', other.certificate) });
    const api = client(config);
    await assert.rejects(api.create(configMaps, { metadata: { namespace: 'n', name: 'a' } }), (error) => {
      return error instanceof TransportError && !error.sent;
    });
    file('bundle.crt', `${other.certificate}\n${authority.certificate}`);
    clock.advance(minute);
    await api.list(configMaps);
  });

  test('a write that the gate refuses when the connection stands is not sent, and reads use it', async () => {
    const gate = {
      assertMayWrite() {
        throw new TransportError('not leading', false);
      },
    };
    const api = connectTo(server, { kubeConfig: kubeConfig(), gate }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object), /not leading/);
    await api.list(configMaps);
    assert.deepEqual([server.requests.length, server.connections.opened], [1, 1]);
  });

  test('a call that ends in the very turn in which its connection stands does no harm', async () => {
    const controller = new AbortController();
    const gate = { assertMayWrite: () => controller.abort(new Error('leadership lost')) };
    const api = connectTo(server, { kubeConfig: kubeConfig(), gate }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object, { signal: controller.signal }), /leadership lost/);
    await until(() => server.connections.opened === 1 && server.connections.open === 0);
    assert.equal(server.requests.length, 0);
  });

  test('a watch that is left in the turn of its event ends its connection', async () => {
    const api = connectTo(server, { kubeConfig: kubeConfig() }).client;
    const controller = new AbortController();
    const options = { timeoutSeconds: 60, signal: controller.signal };
    for (let i = 0; i < 20; i++) {
      const stream = await api.watch(
        configMaps,
        i % 2 === 0 ? options : { ...options, sendInitialEvents: true },
      );
      server.put(configMaps, { metadata: { namespace: 'n', name: 'a' }, data: { i: String(i) } });
      for await (const event of stream) {
        assert.ok(event.type === 'ADDED');
        break;
      }
    }
    await until(() => server.connections.open === 0);
  });

  test('a write that is given up resets its connection', async () => {
    server.fail({}, { kind: 'hang' });
    // The deadline is real time here.
    const api = connectTo(server, { kubeConfig: kubeConfig() }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object, { timeout: 200 }));
    await until(() => server.connections.open === 0);
    assert.equal(server.connections.resets, 1);
  });

  const rows: readonly { title: string; cluster: () => Partial<Cluster>; works: boolean }[] = [
    { title: 'insecure-skip-tls-verify', cluster: () => ({ caFile: '', skipTLSVerify: true }), works: true },
    { title: 'no CA', cluster: () => ({ caFile: '' }), works: false },
    {
      title: 'CA as data',
      cluster: () => ({ caFile: '', caData: Buffer.from(authority.certificate).toString('base64') }),
      works: true,
    },
    {
      title: 'the tls-server-name of the certificate',
      cluster: () => ({ tlsServerName: 'api.internal' }),
      works: true,
    },
    { title: 'another tls-server-name', cluster: () => ({ tlsServerName: 'other.internal' }), works: false },
  ];
  for (const { title, cluster, works } of rows) {
    test(`${title} ${works ? 'works' : 'is refused'}`, async () => {
      const call = connectTo(server, { kubeConfig: kubeConfig({}, cluster()) }).leaseClient.list(configMaps);
      if (works) await call;
      else await assert.rejects(call, (error) => error instanceof TransportError && !error.sent);
    });
  }
});

/** A JSON Web Token that is valid for long; nobody here checks its signature. */
const idToken = ['{"alg":"none"}', '{"exp":9999999999}', 'x']
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.');

describe('headers', () => {
  const rows: readonly { title: string; user: object; headers: Record<string, string> }[] = [
    {
      title: 'the id-token of an OIDC provider',
      user: { authProvider: { name: 'oidc', config: { 'id-token': idToken } } },
      headers: { authorization: `Bearer ${idToken}` },
    },
    { title: 'a token', user: { token: 't\n' }, headers: { authorization: 'Bearer t' } },
    {
      title: 'name and password',
      user: { username: 'a', password: 'b:c' },
      headers: { authorization: 'Basic YTpiOmM=' },
    },
    {
      title: 'impersonation',
      user: {
        token: 't',
        impersonateUser: 'x',
        impersonateUid: '7',
        impersonateGroups: ['a', 'b'],
        impersonateExtra: { 'example.com/k': ['v'] },
      },
      headers: {
        'impersonate-user': 'x',
        'impersonate-uid': '7',
        'impersonate-group': 'a, b',
        'impersonate-extra-example.com%2fk': 'v',
      },
    },
  ];
  for (const { title, user, headers } of rows) {
    test(title, async () => {
      await client(kubeConfig(user)).list(configMaps);
      const sent = server.requests[0]?.headers ?? {};
      for (const [name, value] of Object.entries(headers)) assert.equal(sent[name], value);
    });
  }

  test('nothing secret goes to a server without TLS', async () => {
    const plain = await FakeApiServer.start();
    const user = { token: 't', impersonateUser: 'x', exec: { command: 'false' } };
    const config = kubeConfig(user, { server: plain.url });
    await client(config).list(configMaps);
    assert.equal(plain.requests[0]?.headers.authorization, undefined);
    assert.equal(plain.requests[0]?.headers['impersonate-user'], undefined);
    await plain.stop();
  });
});
