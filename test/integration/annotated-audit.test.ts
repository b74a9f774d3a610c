/** Which kinds the operator reads for annotated workloads, by the audit log of an API server of its own. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { eventually } from './support.ts';

/** Which kinds the operator has listed or watched, by the audit log. */
async function readKinds(log: string): Promise<readonly string[]> {
  const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
  const reads = lines
    .map((line): { verb: string; userAgent?: string; objectRef?: { resource?: string } } => JSON.parse(line))
    .filter(({ verb, userAgent }) => ['list', 'watch'].includes(verb) && userAgent?.startsWith('atwatch/'))
    .map(({ objectRef }) => objectRef?.resource ?? '');
  return [...new Set(reads)].sort();
}

it('workloads are listed and watched only with the flag', { timeout: 180_000 }, async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-audit-'));
  t.after(async () => {
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  });
  await cluster.kubectl(['apply', '--server-side', '--kustomize=crds']);
  /** Runs until nothing but the kinds that it is started for can follow. */
  const readBy = async (expected: readonly string[], ...flags: readonly string[]) => {
    const operator = await startOperator(cluster.kubeconfig, join(directory, 'operator.log'), { flags });
    try {
      await eventually(
        async () => {
          const kinds = await readKinds(cluster.auditLog ?? '');
          return expected.every((kind) => kinds.includes(kind));
        },
        { message: `it reads ${expected}` },
      );
    } finally {
      await operator.stop();
    }
    return readKinds(cluster.auditLog ?? '');
  };
  const always = ['ats', 'configmaps', 'configwatchers', 'pods'];
  assert.deepEqual(await readBy(always), always);
  const own = ['daemonsets', 'deployments', 'statefulsets'];
  assert.deepEqual(await readBy(own, '--annotated-workloads'), [...always, ...own].sort());
  const others = ['cronjobs', 'jobs'];
  assert.deepEqual(await readBy(others, '--reloader-annotations'), [...always, ...own, ...others].sort());
});
