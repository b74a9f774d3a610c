import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runReleasePods } from '../src/release-pods.ts';

/** A user who may not list Leases, in a cluster whose API server tells the paths that it was asked for. */
async function withoutLeases(t: TestContext) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const [path = ''] = request.url?.split('?') ?? [];
    paths.push(path);
    const isLeases = path.endsWith('/leases');
    const list = { kind: 'PodList', metadata: { resourceVersion: '1' }, items: [] };
    const refusal = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no' };
    response.writeHead(isLeases ? 403 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isLeases ? refusal : list));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = await mkdtemp(join(tmpdir(), 'release-pods-'));
  t.after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  const config = {
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  const kubeconfig = join(folder, 'config');
  await writeFile(kubeconfig, JSON.stringify(config));
  const written: string[] = [];
  const host = { env: { KUBECONFIG: kubeconfig }, stdout: { write: (text: string) => written.push(text) } };
  const run = (force: boolean) => runReleasePods({ namespaces: ['a'], dryRun: false, force }, '1', host);
  return { run, paths, written };
}

test('nothing is freed while it cannot be seen whether an operator still runs', async (t) => {
  const { run, paths, written } = await withoutLeases(t);
  await assert.rejects(run(false), /^Error: it is not known whether an operator still runs, .*--force$/);
  assert.ok(!paths.some((path) => path.endsWith('/pods')));
  assert.equal(await run(true), 0);
  assert.deepEqual(written, ['no Pod is held\n']);
});
