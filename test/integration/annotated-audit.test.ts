/** Which kinds the operator reads for annotated workloads, and what it tells of those that it can do nothing for: on an API server of its own. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { rolloutCrd } from '../fixtures/argo-rollouts.ts';
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

let cluster: ControlPlane;
let directory: string;

before(async () => {
  cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  directory = await mkdtemp(join(tmpdir(), 'atwatch-audit-'));
  await cluster.kubectl(['apply', '--server-side', '--kustomize=crds']);
});
after(async () => {
  await cluster?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Runs an operator until it is so. */
async function runUntil(
  message: string,
  isSo: () => Promise<boolean>,
  flags: readonly string[],
): Promise<void> {
  const operator = await startOperator(cluster.kubeconfig, join(directory, 'operator.log'), { flags });
  try {
    await eventually(isSo, { message });
  } finally {
    await operator.stop();
  }
}

it('workloads are listed and watched only with the flag', { timeout: 180_000 }, async () => {
  /** Runs until nothing but the kinds that it is started for can follow. */
  const readBy = async (expected: readonly string[], ...flags: readonly string[]) => {
    const log = cluster.auditLog ?? '';
    const areRead = async () => {
      const kinds = await readKinds(log);
      return expected.every((kind) => kinds.includes(kind));
    };
    await runUntil(`it reads ${expected}`, areRead, flags);
    return readKinds(log);
  };
  const always = ['ats', 'configmaps', 'configwatchers', 'pods'];
  assert.deepEqual(await readBy(always), always);
  const own = ['daemonsets', 'deployments', 'statefulsets'];
  assert.deepEqual(await readBy(own, '--annotated-workloads'), [...always, ...own].sort());
  const others = ['cronjobs', 'jobs'];
  assert.deepEqual(await readBy(others, '--reloader-annotations'), [...always, ...own, ...others].sort());
});

it('a Rollout of Argo gets a Warning that says what to write instead, and no ConfigWatcher', {
  timeout: 60_000,
}, async () => {
  const create = (object: object) =>
    cluster.kubectl(['create', '--namespace=default', '--filename=-'], JSON.stringify(object));
  await create(rolloutCrd);
  const crd = `crd/${rolloutCrd.metadata.name}`;
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', crd]);
  const annotations = { 'reloader.stakater.com/auto': 'true' };
  const metadata = { name: 'canary', annotations };
  const rollout = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', metadata };
  // Where it is served, kubectl may not be told of it yet.
  await eventually(() => create(rollout), { message: 'the Rollout is created' });
  const get = (what: string, path: string) =>
    cluster.kubectl(['get', what, '--namespace=default', `--output=jsonpath={${path}}`]);
  const told = () => get('events.events.k8s.io', '.items[?(@.regarding.kind=="Rollout")].note');
  const isTold = async () => (await told()) !== '';
  await runUntil('an Event is about it', isTold, ['--reloader-annotations']);
  assert.match(
    await told(),
    /^a Rollout gets no ConfigWatcher of its own: write one with the labels of its Pods/,
  );
  assert.equal(await get('configwatchers', '.items[*].metadata.name'), '');
});
