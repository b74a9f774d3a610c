import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import {
  type CompleteCluster,
  type CompleteUser,
  KubeConfigError,
} from '../../../src/runtime/client/kubeconfig-entries.ts';
import { loadKubeConfig } from '../../../src/runtime/client/load-kubeconfig.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, content: object | string): string {
  const path = join(directory, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function kubeconfig(name: string, user: object = {}, currentContext = name): object {
  return {
    clusters: [{ name, cluster: { server: `https://${name}:6443`, 'certificate-authority': 'ca.crt' } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'ns' } }],
    'current-context': currentContext,
  };
}

const serverOf = (env: Record<string, string>, serviceAccount = join(directory, 'none')) =>
  loadKubeConfig({ env, serviceAccount }).getCurrentCluster()?.server;

describe('where the configuration comes from', () => {
  test('KUBECONFIG wins over the service account, that over the home directory', () => {
    const KUBECONFIG = file('config', kubeconfig('file'));
    file('.kube/config', kubeconfig('home'));
    file('sa/token', 'token');
    const HOME = directory;
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', HOME };
    assert.equal(serverOf({ ...pod, KUBECONFIG }, join(directory, 'sa')), 'https://file:6443');
    assert.equal(serverOf(pod, join(directory, 'sa')), 'https://10.0.0.1:443');
    assert.equal(serverOf(pod), 'https://home:6443');
    assert.equal(serverOf({ HOME }, join(directory, 'sa')), 'https://home:6443');
  });

  test('in a Pod: token, CA and namespace of the service account, also over IPv6', () => {
    file('sa/token', 'token');
    file('sa/namespace', 'mine\n');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const config = loadKubeConfig({ env, serviceAccount: join(directory, 'sa') });
    assert.equal(config.getCurrentCluster()?.server, 'https://[fd00::1]:6443');
    assert.equal(config.getCurrentCluster()?.caFile, join(directory, 'sa/ca.crt'));
    assert.equal(config.getCurrentUser()?.authProvider?.config.tokenFile, join(directory, 'sa/token'));
    assert.equal(config.getContextObject(config.getCurrentContext())?.namespace, 'mine');
  });

  test('of several files the first to name something wins, and missing ones count as empty', () => {
    const first = file('first', { ...kubeconfig('one'), 'current-context': '' });
    const second = file('second', {
      ...kubeconfig('two'),
      clusters: [
        { name: 'one', cluster: { server: 'https://other' } },
        ...(kubeconfig('two') as { clusters: object[] }).clusters,
      ],
    });
    const KUBECONFIG = [join(directory, 'missing'), first, second].join(':');
    const config = loadKubeConfig({ env: { KUBECONFIG } });
    assert.equal(config.getCurrentContext(), 'two');
    assert.equal(config.getCluster('one')?.server, 'https://one:6443');
  });
});

describe('what a file says', () => {
  test('paths are relative to it', () => {
    const KUBECONFIG = file('deep/config', kubeconfig('c', { 'client-key': 'a.key', tokenFile: 'token' }));
    const config = loadKubeConfig({ env: { KUBECONFIG } });
    assert.equal(config.getCurrentCluster()?.caFile, join(directory, 'deep/ca.crt'));
    assert.equal(config.getCurrentUser()?.keyFile, join(directory, 'deep/a.key'));
    assert.equal(config.getCurrentUser()?.authProvider?.config.tokenFile, join(directory, 'deep/token'));
  });

  test('whom to impersonate is complete', () => {
    const user = { as: 'x', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { k: ['v'] } };
    const KUBECONFIG = file('config', kubeconfig('c', user));
    const loaded: CompleteUser | null = loadKubeConfig({ env: { KUBECONFIG } }).getCurrentUser();
    assert.deepEqual(
      [loaded?.impersonateUser, loaded?.impersonateUid, loaded?.impersonateGroups, loaded?.impersonateExtra],
      ['x', '7', ['a', 'b'], { k: ['v'] }],
    );
  });
});

describe('the environment', () => {
  test('says which proxy is used, where the file does not', () => {
    const KUBECONFIG = file('config', {
      ...kubeconfig('c'),
      clusters: [
        { name: 'c', cluster: { server: 'https://c:6443' } },
        { name: 'own', cluster: { server: 'https://own:6443', 'proxy-url': 'http://own-proxy' } },
        { name: 'near', cluster: { server: 'https://near.local:6443' } },
      ],
    });
    const config = loadKubeConfig({ env: { KUBECONFIG, HTTPS_PROXY: 'proxy:3128', NO_PROXY: '.local' } });
    assert.deepEqual(
      config.clusters.map(({ proxyUrl }) => proxyUrl),
      ['http://proxy:3128', 'http://own-proxy', undefined],
    );
  });

  test('says it in a Pod, too', () => {
    file('sa/token', 'token');
    const env = {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      https_proxy: 'http://p',
    };
    const load = (more: object) =>
      loadKubeConfig({ env: { ...env, ...more }, serviceAccount: join(directory, 'sa') });
    assert.equal(load({}).getCurrentCluster()?.proxyUrl, 'http://p');
    assert.equal(load({ NO_PROXY: '10.0.0.0/8' }).getCurrentCluster()?.proxyUrl, undefined);
  });

  test('is that in which an exec plugin runs, which is looked for beside the file, or in PATH', () => {
    const config = { 'key of': ['the', 'plugin'] };
    const extensions = [{ name: 'other' }, { name: 'client.authentication.k8s.io/exec', extension: config }];
    const load = (command: string) => {
      const env = {
        KUBECONFIG: file('deep/config', {
          ...kubeconfig('c', { exec: { command } }),
          clusters: [{ name: 'c', cluster: { server: 'https://c', extensions } }],
        }),
        PATH: '/bin',
      };
      const loaded = loadKubeConfig({ env });
      const user: CompleteUser | null = loaded.getCurrentUser();
      const cluster: CompleteCluster | null = loaded.getCurrentCluster();
      assert.deepEqual([user?.execEnvironment, cluster?.execConfig], [env, config]);
      return user?.exec.command;
    };
    assert.equal(load('bin/login'), join(directory, 'deep/bin/login'));
    assert.equal(load('login'), 'login');
  });
});

describe('without a usable configuration there is one sentence that says why', () => {
  const rows: readonly { title: string; env: () => Record<string, string>; message: RegExp }[] = [
    { title: 'nothing at all', env: () => ({}), message: /^no cluster is configured: set KUBECONFIG/ },
    {
      title: 'a home without a file',
      env: () => ({ HOME: directory }),
      message: /or create .*\.kube\/config$/,
    },
    {
      title: 'a file that is missing',
      env: () => ({ KUBECONFIG: '/missing' }),
      message: /names no file that exists/,
    },
    {
      title: 'a file that is no YAML',
      env: () => ({ KUBECONFIG: file('c', '{[') }),
      message: /c is no readable kubeconfig/,
    },
    {
      title: 'an empty file',
      env: () => ({ KUBECONFIG: file('c', '') }),
      message: /c is no readable kubeconfig/,
    },
    {
      title: 'no current context',
      env: () => ({ KUBECONFIG: file('c', kubeconfig('a', {}, '')) }),
      message: /sets no current-context/,
    },
    {
      title: 'an unknown context',
      env: () => ({ KUBECONFIG: file('c', kubeconfig('a', {}, 'b')) }),
      message: /has no context "b"/,
    },
    {
      title: 'a context without its cluster',
      env: () => ({ KUBECONFIG: file('c', { ...kubeconfig('a'), clusters: [] }) }),
      message: /names no server for the context "a"/,
    },
    {
      title: 'a context without its user',
      env: () => ({ KUBECONFIG: file('c', { ...kubeconfig('a'), users: [] }) }),
      message: /has no user "a"/,
    },
  ];
  for (const { title, env, message } of rows) {
    test(title, () => {
      const load = () => loadKubeConfig({ env: env(), serviceAccount: join(directory, 'none') });
      assert.throws(load, (error) => {
        assert.ok(error instanceof KubeConfigError, String(error));
        assert.match(error.message, message);
        assert.ok(!error.message.includes('\n'));
        return true;
      });
    });
  }
});

test('a file that is no YAML is not quoted, wherever in it the mistake is', () => {
  const token = 's3cret';
  for (const text of [
    `users: [{ user: { token: ${token} }, {`,
    `a: "${token}\\q"`,
    `a: 1\n${token}: 2\n  b`,
  ]) {
    const load = () => loadKubeConfig({ env: { KUBECONFIG: file('c', text) } });
    // As Node.js prints what is not caught, causes and all their properties included.
    assert.throws(load, (error) => error instanceof KubeConfigError && !inspect(error).includes(token));
  }
});

test('a file that may not be read says why', () => {
  const load = () => loadKubeConfig({ env: { KUBECONFIG: directory } });
  assert.throws(load, (error) => {
    return error instanceof KubeConfigError && /EISDIR/.test(error.message) && error.cause instanceof Error;
  });
});
