/** Decisions that cannot be undone while the operator sees nothing new, on the real API server: it reads before it acts. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { AtRig } from './at-rig.ts';
import { Hold } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** An operator whose watch of this resource can be held back. */
async function operating(t: TestContext, plural: 'ats' | 'pods') {
  const rig = await AtRig.create(t);
  const travel = await timeTravel(t);
  const hold = new Hold();
  travel.proxy.treat = ({ path, query }) =>
    path.endsWith(`/${plural}`) && query.has('watch') ? { through: hold.through() } : undefined;
  await rig.startOperator(travel.options);
  return { ...travel, rig, hold };
}

/** An At whose Pod a replica has created that was stopped before it could write that, while the watch of Pods is held. */
async function launchedUnseen(t: TestContext) {
  const { rig, hold } = await operating(t, 'pods');
  await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
  await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
  hold.begin();
  const { metadata } = await rig.createPodOf();
  return { rig, hold, podUID: metadata.uid };
}

/** Resolves when the operator has looked at everything that was there before. */
async function lookedAt(rig: AtRig, name: string): Promise<void> {
  await rig.createAt({}, name);
  await rig.inPhase('RUNNING', name);
}

describe('what the operator has not seen yet', { concurrency: true }, () => {
  it('keeps an At whose time to live was raised', async (t) => {
    const { rig, proxy, advance, hold } = await operating(t, 'ats');
    await rig.createAt({ ttlSecondsAfterFinished: 40 });
    await rig.inPhase('RUNNING');
    await rig.exit(0);
    await rig.inPhase('DONE');
    await lookedAt(rig, 'afterwards');
    hold.begin();
    await rig.editAt({ ttlSecondsAfterFinished: 3600 });
    const before = proxy.asked.length;
    await advance(41_000);
    const asked = () => proxy.asked.slice(before).filter(({ path }) => path.endsWith('/ats/example-at'));
    await eventually(() => asked().length > 0, { message: 'the At is read' });
    hold.end();
    await rig.atWhen('seen', ({ status }) => status?.observedGeneration === 2);
    assert.deepEqual(
      asked().filter(({ method }) => method === 'DELETE'),
      [],
    );
  });

  it('is a suspension: it reads an At that a dead connection showed to be resumed', async (t) => {
    const { rig, proxy, advance, hold } = await operating(t, 'ats');
    // One would show that the view is current.
    const isBookmark = (part: Buffer) => part.includes('"type":"BOOKMARK"');
    proxy.treat = ({ path, query }) =>
      path.endsWith('/ats') && query.has('watch') ? { through: hold.through(isBookmark) } : undefined;
    proxy.cut();
    await rig.createAt({ suspend: true });
    await rig.atWhen('suspended', ({ status }) => status?.reason === 'Suspended');
    const shown: unknown[] = [];
    await rig.watch(t, ats, (_, { spec }) => void shown.push(spec.suspend));
    hold.begin();
    for (const suspend of [false, true]) {
      await rig.editAt({ suspend });
      await eventually(() => shown.at(-1) === suspend, { message: 'the edit is shown to others' });
    }
    await advance(91_000);
    const from = proxy.asked.length;
    const asked = (method: string, path: string) =>
      proxy.asked.slice(from).some((one) => one.method === method && one.path.endsWith(path));
    const isRead = () => asked('GET', '/ats/example-at');
    // The status that the operator has written may come first.
    for (let part = 0; part < 2 && !isRead(); part++) {
      hold.step();
      await eventually(isRead, { timeout: 2000 }).catch(() => {});
    }
    assert.ok(isRead(), 'the At is read');
    hold.end();
    await rig.atWhen('seen', ({ status }) => status?.observedGeneration === 3);
    assert.ok(!asked('POST', '/pods'));
    assert.equal((await rig.at()).status?.reason, 'Suspended');
  });

  it('is a launch, of which a cancel speaks', async (t) => {
    const { rig, hold, podUID } = await launchedUnseen(t);
    await rig.editAt({ cancel: true });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.podUID], ['Canceled', podUID]);
    await eventually(() => rig.isPodGone(), { message: 'the Pod is gone' });
    hold.end();
  });
  for (const [outcome, edit] of [
    ['Missed', { schedule: '2019-04-12T10:12:00Z', startingDeadlineSeconds: 1 }],
    ['Canceled', { cancel: true }],
  ] as const) {
    it(`is no Pod where it writes ${outcome}: it has asked for it by its name`, async (t) => {
      const { rig, proxy } = await operating(t, 'pods');
      await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
      await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
      const from = proxy.asked.length;
      await rig.editAt(edit);
      assert.equal((await rig.inPhase('DONE')).status?.outcome, outcome);
      const asked = proxy.asked.slice(from).map(({ method, path }) => `${method} ${path}`);
      const space = `/namespaces/${rig.namespace}`;
      const write = `PATCH /apis/cnat.programming-kubernetes.info/v1alpha1${space}/ats/example-at/status`;
      const before = asked.slice(0, asked.indexOf(write));
      assert.ok(before.includes(`GET /api/v1${space}/pods/example-at-pod`), asked.join('\n'));
      assert.deepEqual(asked.filter((what) => what === write).length, 1);
    });
  }

  it('is a launch, of which a deadline that has passed does not say that it was missed', async (t) => {
    const { rig, hold, podUID } = await launchedUnseen(t);
    await rig.editAt({ schedule: '2019-04-12T10:12:00Z', startingDeadlineSeconds: 1 });
    const { status } = await rig.inPhase('RUNNING');
    assert.equal(status?.podUID, podUID);
    hold.end();
  });
});
