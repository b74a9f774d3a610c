/**
 * Credentials that rotate or are refused, against servers that check them over TLS.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createAuthority } from '../../../local-cluster/pki.ts';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import { Credentials } from '../../../src/runtime/client/credentials.ts';
import type { CompleteCluster } from '../../../src/runtime/client/kubeconfig-entries.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';
import { authority, CredentialsRig, minute } from './credentials-rig.ts';

let rig: CredentialsRig;
beforeEach(async () => {
  rig = await CredentialsRig.start();
});
afterEach(() => rig.stop());

describe('a token file', () => {
  const provider = (tokenFile: string) => ({ authProvider: { name: 'tokenFile', config: { tokenFile } } });

  test('is read again after a minute, not before', async () => {
    const path = rig.file('token', 'first\n');
    const api = rig.client(rig.kubeConfig(provider(path)));
    const sent = async () => {
      await api.list(configMaps);
      return rig.server.requests.at(-1)?.headers.authorization;
    };
    assert.equal(await sent(), 'Bearer first');
    rig.file('token', 'second');
    rig.clock.advance(minute - 1);
    assert.equal(await sent(), 'Bearer first');
    rig.clock.advance(1);
    assert.equal(await sent(), 'Bearer second');
    assert.equal(rig.server.connections.opened, 1, 'a new token needs no new connection');
  });

  test('is read again at once when the server refuses the token, and the request repeated', async () => {
    const path = rig.file('token', 'old');
    const api = rig.client(rig.kubeConfig(provider(path)));
    await api.list(configMaps);
    rig.file('token', 'new');
    rig.accepted = 'Bearer new';
    rig.clock.advance(10_000);
    await api.create(configMaps, { metadata: { namespace: 'n', name: 'a' } });
    assert.deepEqual(
      rig.server.requests.map(({ code }) => code),
      [200, 401, 201],
    );
  });

  test('that has not changed is not sent again, and not read for each refusal', async () => {
    const api = rig.client(rig.kubeConfig(provider(rig.file('token', 'revoked'))));
    rig.accepted = 'Bearer other';
    rig.clock.advance(10_000);
    for (let i = 0; i < 3; i++) {
      await assert.rejects(api.list(configMaps), (error) => error instanceof ApiError && error.code === 401);
    }
    assert.equal(rig.server.requests.length, 3);
  });

  test('that is just being written leaves the last good one', async () => {
    const credentials = new Credentials(
      rig.kubeConfig(provider(rig.file('token', 'good'))),
      rig.clock,
      rig.log,
    );
    await credentials.refresh();
    rig.file('token', '');
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer good']);
    rmSync(join(rig.directory, 'token'));
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer good']);
    rig.file('token', 'new');
    assert.deepEqual((await credentials.refresh()).headers, ['authorization', 'Bearer new']);
    const begins = 'warn: the credentials cannot be read again; the last good ones stay in use';
    assert.deepEqual(rig.logged, [begins, begins, 'info: the credentials can be read again']);
  });

  test('that never was there is an error that names it, and nothing is sent', async () => {
    const path = join(rig.directory, 'missing');
    await assert.rejects(rig.client(rig.kubeConfig(provider(path))).list(configMaps), (error) => {
      return error instanceof TransportError && !error.sent && error.message.includes(path);
    });
  });
});

describe('of two that say the same', () => {
  const data = (pem: string) => Buffer.from(pem).toString('base64');

  test('data win over a file', async () => {
    const { key, certificate } = await authority.issue({ name: 'data' });
    const other = await createAuthority('other');
    const wrong = await other.issue({ name: 'file' });
    const user = {
      ...{ certData: data(certificate), certFile: rig.file('client.crt', wrong.certificate) },
      ...{ keyData: data(key), keyFile: rig.file('client.key', wrong.key) },
    };
    const cluster = { caData: data(authority.certificate), caFile: rig.file('other.crt', other.certificate) };
    await rig.client(rig.kubeConfig(user, cluster)).list(configMaps);
    await rig
      .client(rig.kubeConfig(user, { ...cluster, caFile: join(rig.directory, 'missing') }))
      .list(configMaps);
    assert.deepEqual(rig.peers, ['data', 'data']);
  });

  test('a token file wins over a token, as long as it can be read', async () => {
    const tokenFile = rig.file('token', 'of the file');
    const authProvider = { name: 'tokenFile', config: { tokenFile } };
    const token = 'of the user';
    const sent = async () => {
      await rig.client(rig.kubeConfig({ token, authProvider })).list(configMaps);
      return rig.server.requests.at(-1)?.headers.authorization;
    };
    assert.equal(await sent(), 'Bearer of the file');
    rmSync(tokenFile);
    assert.equal(await sent(), 'Bearer of the user');
  });
});

describe('TLS', () => {
  test('a new client certificate is used for new connections, and the old ones are left', async () => {
    const issue = async (name: string) => {
      const { key, certificate } = await authority.issue({ name });
      return { certFile: rig.file('client.crt', certificate), keyFile: rig.file('client.key', key) };
    };
    const api = rig.client(rig.kubeConfig(await issue('first')));
    await api.list(configMaps);
    await issue('second');
    rig.clock.advance(minute);
    await api.list(configMaps);
    await api.list(configMaps);
    assert.deepEqual(rig.peers, ['first', 'second', 'second']);
    assert.equal(rig.server.connections.opened, 2);
    await until(() => rig.server.connections.open === 1);
  });

  test('a new CA is trusted after a minute', async () => {
    const other = await createAuthority('other');
    const config = rig.kubeConfig({}, { caFile: rig.file('bundle.crt', other.certificate) });
    const api = rig.client(config);
    await assert.rejects(api.create(configMaps, { metadata: { namespace: 'n', name: 'a' } }), (error) => {
      return error instanceof TransportError && !error.sent;
    });
    rig.file('bundle.crt', `${other.certificate}\n${authority.certificate}`);
    rig.clock.advance(minute);
    await api.list(configMaps);
  });

  test('a write that the gate refuses when the connection stands is not sent, and reads use it', async () => {
    const gate = {
      assertMayWrite() {
        throw new TransportError('not leading', false);
      },
    };
    const api = connectTo(rig.server, { kubeConfig: rig.kubeConfig(), gate }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object), /not leading/);
    await api.list(configMaps);
    assert.deepEqual([rig.server.requests.length, rig.server.connections.opened], [1, 1]);
  });

  test('a call that ends in the very turn in which its connection stands does no harm', async () => {
    const controller = new AbortController();
    const gate = { assertMayWrite: () => controller.abort(new Error('leadership lost')) };
    const api = connectTo(rig.server, { kubeConfig: rig.kubeConfig(), gate }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object, { signal: controller.signal }), /leadership lost/);
    await until(() => rig.server.connections.opened === 1 && rig.server.connections.open === 0);
    assert.equal(rig.server.requests.length, 0);
  });

  test('a watch that is left in the turn of its event ends its connection', async () => {
    const api = connectTo(rig.server, { kubeConfig: rig.kubeConfig() }).client;
    const controller = new AbortController();
    const options = { timeoutSeconds: 60, signal: controller.signal };
    for (let i = 0; i < 20; i++) {
      const stream = await api.watch(
        configMaps,
        i % 2 === 0 ? options : { ...options, sendInitialEvents: true },
      );
      rig.server.put(configMaps, { metadata: { namespace: 'n', name: 'a' }, data: { i: String(i) } });
      for await (const event of stream) {
        assert.ok(event.type === 'ADDED');
        break;
      }
    }
    await until(() => rig.server.connections.open === 0);
  });

  test('a write that is given up resets its connection', async () => {
    rig.server.fail({}, { kind: 'hang' });
    // The deadline is real time here.
    const api = connectTo(rig.server, { kubeConfig: rig.kubeConfig() }).client;
    const object = { metadata: { namespace: 'n', name: 'a' } };
    await assert.rejects(api.create(configMaps, object, { timeout: 200 }));
    await until(() => rig.server.connections.open === 0);
    assert.equal(rig.server.connections.resets, 1);
  });

  const rows: readonly { title: string; cluster: () => Partial<CompleteCluster>; works: boolean }[] = [
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
      const call = connectTo(rig.server, { kubeConfig: rig.kubeConfig({}, cluster()) }).leaseClient.list(
        configMaps,
      );
      if (works) await call;
      else await assert.rejects(call, (error) => error instanceof TransportError && !error.sent);
    });
  }
});

/** A JSON Web Token that is valid for long; its signature is not checked here. */
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
      await rig.client(rig.kubeConfig(user)).list(configMaps);
      const sent = rig.server.requests[0]?.headers ?? {};
      for (const [name, value] of Object.entries(headers)) assert.equal(sent[name], value);
    });
  }

  test('nothing secret goes to a server without TLS', async () => {
    const plain = await FakeApiServer.start();
    const user = { token: 't', impersonateUser: 'x', exec: { command: 'false' } };
    const config = rig.kubeConfig(user, { server: plain.url });
    await rig.client(config).list(configMaps);
    assert.equal(plain.requests[0]?.headers.authorization, undefined);
    assert.equal(plain.requests[0]?.headers['impersonate-user'], undefined);
    await plain.stop();
  });
});
