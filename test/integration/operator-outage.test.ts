/**
 * What the operator needs goes away after its first sync and comes back: it says so, is not ready meanwhile, and goes
 * on in the same process.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { applyOverlay } from './overlay.ts';
import { serviceAccount, writeServiceAccountKubeconfig } from './rights-audit.ts';
import { eventually } from './support.ts';

let controlPlane: ControlPlane;
let directory: string;
let operator: OperatorProcess | undefined;

const logFile = () => join(directory, 'operator.log');
const kubectl = (...args: string[]) => controlPlane.kubectl(args);

interface Line {
  readonly msg: string;
  readonly address?: string;
  readonly err?: { readonly message: string };
}
const lines = async (): Promise<Line[]> =>
  (await readFile(logFile(), 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Resolves once `/readyz` says so. */
async function readiness(status: 200 | 500): Promise<void> {
  const address = (await lines()).find(({ msg }) => msg === 'serving health checks')?.address;
  const asked = async () => (await fetch(`http://${address}/readyz`)).status === status;
  await eventually(asked, { timeout: 90_000, interval: 200, message: `/readyz answers ${status}` });
}

/** Resolves once a warning since the line `from` gives this reason. */
async function says(reason: RegExp, from: number): Promise<void> {
  const said = async () => (await lines()).slice(from).some(({ err }) => reason.test(err?.message ?? ''));
  await eventually(said, { timeout: 60_000, interval: 200, message: `the log says ${reason}` });
}

function createAt(name: string, schedule: string): Promise<string> {
  const at = {
    ...{ apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At' },
    ...{ metadata: { name, namespace: 'default' }, spec: { schedule, command: 'true' } },
  };
  return controlPlane.kubectl(['apply', '--filename=-'], JSON.stringify(at));
}

/** Resolves once the At has its Pod. */
async function launched(name: string): Promise<void> {
  await eventually(() => kubectl('get', `pod/${name}-pod`, '--namespace=default'), {
    ...{ timeout: 60_000, interval: 200, message: `${name} has its Pod` },
  });
}

/** The operator does its work: an At gets its Pod. */
async function works(name: string): Promise<void> {
  // The API server may need a moment to serve the kind again.
  const created = () => createAt(name, '2019-04-12T10:12:00Z');
  await eventually(created, { timeout: 30_000, interval: 200, message: 'an At can be created' });
  await launched(name);
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atwatch-outage-'));
  controlPlane = await startControlPlane({ controllerManager: false, scheduler: false });
  await applyOverlay(controlPlane, { resources: ['default'] });
  const user = `--as=system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`;
  await eventually(() => kubectl('auth', 'can-i', 'watch', 'pods', '--all-namespaces', user), {
    ...{ timeout: 30_000, interval: 200, message: 'the rights are in force' },
  });
  const kubeconfig = join(directory, 'kubeconfig');
  await writeServiceAccountKubeconfig(controlPlane, kubeconfig);
  // Without leader election, which ends a leader that cannot renew its lease.
  operator = await startOperator(kubeconfig, logFile());
  await readiness(200);
});
after(async () => {
  await operator?.stop();
  await controlPlane?.stop();
  await rm(directory, { recursive: true, force: true });
});

describe('the operator goes on in the same process', () => {
  const outages = [
    {
      what: 'when a CRD is removed and comes back',
      keepsAts: false,
      leave: () => kubectl('delete', 'crd/ats.cnat.programming-kubernetes.info'),
      reason: /^ats\.cnat\.programming-kubernetes\.info \(v1alpha1\) is not served/,
      comeBack: () => kubectl('apply', '--server-side', '--kustomize=crds'),
    },
    {
      what: 'when the API server is away for a while',
      keepsAts: true,
      leave: () => controlPlane.stopApiServer(),
      reason: /cannot be watched/,
      comeBack: () => controlPlane.startApiServer(),
    },
    {
      what: 'when its rights are taken away and given back',
      keepsAts: true,
      // Watches that are open stay so: they begin anew with the API server.
      leave: async () => {
        await kubectl('delete', 'clusterrolebinding/atwatch-manager-rolebinding');
        await controlPlane.stopApiServer();
        await controlPlane.startApiServer();
      },
      reason: /cannot (list|watch) resource/,
      comeBack: () => applyOverlay(controlPlane, { resources: ['default'] }),
    },
  ];
  for (const [index, { what, keepsAts, leave, reason, comeBack }] of outages.entries()) {
    it(what, async () => {
      const from = (await lines()).length;
      const due = Date.now() + 4000;
      await createAt(`meanwhile-${index}`, new Date(due).toISOString());
      await leave();
      const isLeft = Date.now() < due;
      await readiness(500);
      await says(reason, from);
      await eventually(() => Date.now() > due, { message: 'the At is due' });
      await comeBack();
      await readiness(200);
      await works(`after-${index}`);
      if (!keepsAts && isLeft) {
        // Deleted before its time with everything of its kind: an operator that still saw it would have run it.
        const all = await kubectl('get', 'pods', '--namespace=default', '--output=name');
        assert.doesNotMatch(all, /meanwhile/);
      } else {
        await launched(`meanwhile-${index}`);
      }
      assert.equal((await lines()).filter(({ msg }) => msg === 'ready').length, 1);
    });
  }
});
