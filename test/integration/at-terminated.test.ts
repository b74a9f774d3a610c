/** At, when the process that leads is asked to end while its work is under way, on the real API server. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { AtRig } from './at-rig.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { type Asked, HostileProxy, noAnswer } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';

const isCreate = ({ method, path }: Asked) => method === 'POST' && path.endsWith('/pods');

before(() => applyCrds());

it('a leader that SIGTERM finds in a create that hangs ends with 0 and gives its Lease back', {
  timeout: 240_000,
}, async (t) => {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  proxy.treat = (asked) => (isCreate(asked) ? noAnswer : undefined);
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-terminated-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
  const created = await rig.watchPods(t);
  const holders: { readonly name: string; readonly renewedAt: number }[] = [];
  await rig.watch(t, leases, (_, { spec }) => {
    const { holderIdentity: name = '', renewTime = '' } = spec ?? {};
    holders.push({ name, renewedAt: parseTime(renewTime) });
  });

  const env = { KUBECONFIG: kubeconfig };
  const leader = new OperatorProcess(t, rig.namespace, ['--leader-elect'], { env });
  await leader.logged('"msg":"leading"');
  const standby = new OperatorProcess(t, rig.namespace, ['--leader-elect']);
  await standby.logged('"msg":"waiting for leadership"');
  await rig.createAt({ launchGuarantee: 'ExactlyOnce' });
  await eventually(() => proxy.asked.some(isCreate), { message: 'the create is under way', interval: 5 });
  const askedAt = Date.now();
  await leader.kill('SIGTERM');
  assert.equal(await leader.ended, 0, leader.output.slice(-2000));
  await standby.logged('"msg":"leading"');

  const [first] = holders;
  // The log of the next leader may be ahead of the watch.
  const end = await eventually(
    () => {
      const index = holders.findIndex(({ name }) => name === '');
      return index > 0 && holders.length > index + 1 && index;
    },
    { message: `the Lease is given back: ${JSON.stringify(holders)}` },
  );
  const [released, next] = holders.slice(end);
  assert.ok(released && next);
  assert.ok(holders.slice(0, end).every(({ name }) => name === first?.name));
  assert.ok(next.name !== '' && next.name !== first?.name, next.name);
  // A write takes 5 s at most, and a drain 20 s: the create was not waited for any longer than it may take.
  const tookMs = released.renewedAt - askedAt;
  assert.ok(tookMs < 15_000, `the Lease was given back after ${tookMs} ms`);
  const { status } = await rig.inPhase('RUNNING', 'example-at', 60_000);
  assert.deepEqual([...created], [status?.podUID]);
});

/** From SIGTERM and from the due instant on, milliseconds: well before the Lease would have expired, after 12.5 s. */
const takenOverWithinMs = 11_000;
/** From then on a launch counts as late, milliseconds. */
const lateAfterMs = 5000;
/** So long before the due instant the leader is asked to end. */
const beforeDueMs = 300;

for (const [how, flags] of Object.entries({
  'by the other replica': [],
  'by the other replica, where standbys launch nothing': ['--failover-launch-delay=0'],
})) {
  it(`an At that is due as its operator is terminated has its Pod soon, once, ${how}`, {
    timeout: 240_000,
  }, async (t) => {
    const rig = await AtRig.create(t);
    const seen: { readonly pod: string; readonly uid: string | undefined; readonly at: number }[] = [];
    await rig.watch(t, pods, (type, { metadata: { name: pod, uid } }) => {
      if (type === 'ADDED') seen.push({ pod, uid, at: Date.now() });
    });
    const args = ['--leader-elect', ...flags];
    const leader = new OperatorProcess(t, rig.namespace, args);
    await leader.logged('"msg":"leading"');
    const standby = new OperatorProcess(t, rig.namespace, args);
    await standby.logged('"msg":"waiting for leadership"');
    const { name, due } = await rig.createWaiting();
    await eventually(() => Date.now() >= due - beforeDueMs, { timeout: 150_000, interval: 5 });
    await leader.kill('SIGTERM');
    await standby.logged('"msg":"leading"');
    const { status } = await rig.inPhase('RUNNING', name);
    assert.ok(parseTime(status?.launchTime ?? '') >= due);
    const find = () => seen.find(({ uid }) => uid === status?.podUID);
    const tookMs = (await eventually(find, { message: 'its Pod is seen' })).at - due;
    t.diagnostic(`its Pod was there after ${tookMs} ms`);
    assert.ok(tookMs <= takenOverWithinMs, `${tookMs} ms`);
    // Others were tried before this one where the machine is slow.
    assert.equal(seen.filter(({ pod }) => pod === `${name}-pod`).length, 1);
    const isToldLate = await rig.isLaunchToldLate(name);
    assert.ok(tookMs >= lateAfterMs || !isToldLate, 'it is no late launch');
  });
}
