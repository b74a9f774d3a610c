/** What a kubeconfig says, taken as kubectl takes it, on a real API server. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import { KubeConfigError } from '../../src/runtime/client/kubeconfig-entries.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { newConnection } from './support.ts';

interface File {
  readonly clusters: readonly { cluster: Record<string, unknown> }[];
  readonly users: { user: Record<string, unknown> }[];
}

/** The client of a copy of the test cluster's kubeconfig, changed; and a folder beside it. */
async function changed(t: TestContext, change: (file: File, folder: string) => void | Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rm(folder, { recursive: true }));
  const content: File = parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8'));
  await change(content, folder);
  const path = join(folder, 'config');
  await writeFile(path, stringify(content));
  const connection = newConnection({
    kubeConfig: loadKubeConfig({ env: { ...process.env, KUBECONFIG: path } }),
  });
  t.after(() => connection.close());
  return { folder, ask: () => connection.client.getRaw('/version') };
}

it('an exec plugin gives the credentials; it is told of the cluster, and has no standard input', async (t) => {
  const { folder, ask } = await changed(t, async ({ users }, directory) => {
    for (const entry of users) {
      const { 'client-certificate-data': cert, 'client-key-data': key } = entry.user;
      const decoded = (data: unknown) => Buffer.from(String(data), 'base64').toString();
      const status = { clientCertificateData: decoded(cert), clientKeyData: decoded(key) };
      const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status };
      await writeFile(join(directory, 'credential.json'), JSON.stringify(credential));
      // Reading a standard input that is open would not end.
      const script =
        'cat > "$0/input"; printf %s "$KUBERNETES_EXEC_INFO" > "$0/info"; cat "$0/credential.json"';
      entry.user = {
        exec: {
          ...{
            apiVersion: 'client.authentication.k8s.io/v1',
            command: 'sh',
            args: ['-c', script, directory],
          },
          ...{ interactiveMode: 'Never', provideClusterInfo: true },
        },
      };
    }
  });
  assert.match(JSON.stringify(await ask()), /gitVersion/);
  assert.equal(await readFile(join(folder, 'input'), 'utf8'), '');
  const info = JSON.parse(await readFile(join(folder, 'info'), 'utf8'));
  assert.equal(info.kind, 'ExecCredential');
  assert.equal(info.spec.interactive, false);
  assert.match(info.spec.cluster.server, /^https:/);
  assert.ok(info.spec.cluster['certificate-authority-data'].length > 100);
});

it('certificate-authority-data wins over a file beside it', async (t) => {
  const { ask } = await changed(t, ({ clusters }, directory) => {
    for (const { cluster } of clusters) {
      assert.ok(cluster['certificate-authority-data']);
      cluster['certificate-authority'] = join(directory, 'there-is-no-such-file');
    }
  });
  assert.match(JSON.stringify(await ask()), /gitVersion/);
});

it('OIDC with a refresh token is refused before anything is sent', async (t) => {
  const oidc = changed(t, ({ users }) => {
    for (const entry of users) {
      const config = { 'id-token': 'x', 'refresh-token': 'y', 'idp-issuer-url': 'https://127.0.0.1:1' };
      entry.user = { 'auth-provider': { name: 'oidc', config } };
    }
  });
  await assert.rejects(
    oidc,
    (error) => error instanceof KubeConfigError && /use an exec plugin/.test(error.message),
  );
});
