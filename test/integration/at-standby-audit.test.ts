/**
 * All that a standby sends while it launches Ats, by the API server's own account: its audit log. The Lease is held by
 * a leader that does nothing.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { countByKind, requestsOf } from '../bench/at-audit.ts';
import { BenchApiServer } from '../bench/bench-api-server.ts';
import { AtRig, seconds } from './at-rig.ts';
import { noMutatingPolicies } from './mutating-policies.ts';
import { eventually } from './support.ts';

const count = 20;
/**
 * It sends these whether or not it launches: for the Lease, to read the clock of the API server, and at its start to see
 * that admission policies are served.
 */
const always = /^get (leases|\/version|\/readyz|\/apis$|\/apis\/admissionregistration\.k8s\.io)/;
const review = 'create localsubjectaccessreviews';
const reads = [
  'get ats',
  'list ats',
  'list mutatingadmissionpolicies',
  'list mutatingadmissionpolicybindings',
];
/** From then on a policy records the authors of Ats for certain. */
const inForceAfterMs = 11_000;

let server: BenchApiServer;
let policySince: number;

before(async () => {
  server = await BenchApiServer.start();
  await server.plane.kubectl(['apply', '--server-side', '--filename=config/author-check/author.yaml']);
  policySince = Date.now();
  await eventually(() => server.client.list(ats), { message: 'Ats are served' });
});
after(() => server?.stop());

/** An At that an earlier leader has accepted. */
async function accepted(rig: AtRig, name: string, due: number, spec: Partial<AtSpec>): Promise<void> {
  const scheduledTime = new Date(due).toISOString();
  await rig.createAt({ ...spec, schedule: scheduledTime }, name);
  const said = { status: 'True' as const, reason: 'Armed', message: '', lastTransitionTime: seconds(due) };
  const conditions = [{ type: 'Accepted', ...said }];
  const status = { observedGeneration: 1, reason: 'Armed', scheduledTime, conditions };
  const key = { namespace: rig.namespace, name };
  await server.client.patchStatus(ats, key, { type: 'merge', body: { status } });
}

/** How often the standby has sent what, until the last At has its Pod. */
async function sentFor(t: TestContext, spec: Partial<AtSpec>): Promise<ReadonlyMap<string, number>> {
  const namespace = await server.namespace(spec.launchGuarantee?.toLowerCase() ?? 'plain');
  const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: server.plane.kubeconfig } });
  const rig = new AtRig(server.client, kubeConfig, namespace);
  t.after(() => rig.stopOperators());
  const due = Date.now() + 4000;
  for (let index = 0; index < count; index += 1) await accepted(rig, `at-${index}`, due, spec);
  await rig.startOperator({ isStandby: true, checksAuthors: true });
  const since = Date.now();
  // By the time it is due the standby has long gone on with the others, if there is anything that it goes on with.
  await accepted(rig, 'last', Math.max(due, since) + 3000, spec);
  const isLaunched = async () => {
    const { items } = await server.client.list(pods, { namespace });
    return items.length > count && items.every((pod) => (pod.spec.schedulingGates ?? []).length === 0);
  };
  await eventually(isLaunched, { message: 'all are launched' });
  const all = await requestsOf(server.plane.auditLog ?? '', /^atwatch-test/);
  return countByKind(all.filter(({ received, what }) => received >= since && !always.test(what)));
}

/** Nothing else, and of each At's writes one. */
function assertSent(sent: ReadonlyMap<string, number>, others: readonly string[], writes: readonly string[]) {
  assert.deepEqual([...sent.keys()].sort(), [...others, ...writes].sort());
  for (const what of writes) assert.equal(sent.get(what), count + 1, what);
}

describe('a standby that launches Ats', { skip: noMutatingPolicies }, () => {
  before(() =>
    eventually(() => Date.now() - policySince > inForceAfterMs, { message: 'authors are recorded' }),
  );

  it('reads them together, asks for the right of the author, and creates their Pods', async (t) => {
    const sent = await sentFor(t, {});
    assertSent(sent, [...reads, review], ['create pods']);
    assert.ok((sent.get('get ats') ?? 0) < count, `${sent.get('get ats')} were read alone`);
  });

  it('records and releases them under ExactlyOnce', async (t) => {
    const sent = await sentFor(t, { launchGuarantee: 'ExactlyOnce' });
    const writes = ['create pods', 'patch ats/status', 'patch pods'];
    assertSent(sent, [...reads, review, 'get pods'], writes);
  });
});
