/**
 * An At that ends without a Pod, on the real API server, where others write between the look at it and the status:
 * edits, the launch of another replica, a Pod that lands later.
 */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { ats } from '../../src/api/resources.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const farAway = '2100-01-01T00:00:00Z';
/** How an At ends that waits, by the edit that ends it. */
const ends = {
  Missed: {
    edit: { schedule: '2019-04-12T10:12:00Z', startingDeadlineSeconds: 1 },
    reason: 'MissedDeadline',
    event: 'MissedDeadline (W)',
  },
  Canceled: { edit: { cancel: true }, reason: 'Canceled', event: 'Canceled' },
} as const;
const outcomes = Object.keys(ends) as (keyof typeof ends)[];

/**
 * An At that waits, and an operator that has read it, with its Pod, and is to write what the edit makes of it; `act` is
 * done before it may. As long its time stands still, so that no request times out meanwhile.
 */
async function overtaken(t: TestContext, edit: Partial<AtSpec>, act: (rig: AtRig) => Promise<unknown>) {
  const rig = await AtRig.create(t);
  const { options, proxy, stopClock, startClock } = await timeTravel(t);
  const registry = new Registry();
  await rig.startOperator({ ...options, registry });
  await rig.createAt({ schedule: farAway });
  await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
  stopClock();
  const { promise: isRead, resolve: onRead } = Promise.withResolvers<void>();
  const { promise: isOver, resolve: goOn } = Promise.withResolvers<void>();
  proxy.treat = ({ method, path }) => {
    if (method !== 'GET' || !path.endsWith('/ats/example-at')) return undefined;
    const transform: Transform['_transform'] = (chunk, _encoding, done) => {
      onRead();
      void isOver.then(() => done(null, chunk));
    };
    return { through: new Transform({ transform }) };
  };
  await rig.editAt(edit);
  await isRead;
  try {
    await act(rig);
  } finally {
    goOn();
    startClock();
  }
  const isRefused = async () =>
    /^rest_client_requests_total\{code="409",method="PATCH".*\} 1$/m.test(await registry.metrics());
  const told = async (event: string) => {
    await eventually(async () => (await rig.events()).includes(event), { message: `the Event ${event}` });
    return (await rig.events()).filter((one) => one !== 'Rescheduled');
  };
  const assertRefused = () => eventually(isRefused, { message: 'the status is refused' });
  return { rig, told, assertRefused };
}

function label({ client, namespace }: AtRig) {
  const body = { metadata: { labels: { seen: 'yes' } } };
  return client.patch(ats, { namespace, name: 'example-at' }, { type: 'merge', body });
}

/** What another replica does, which has seen the At before its edit. */
async function launchElsewhere(rig: AtRig): Promise<void> {
  const { metadata } = await rig.createPodOf();
  const { name: podName, uid: podUID = '', creationTimestamp: launchTime = '' } = metadata;
  const status = {
    phase: 'RUNNING',
    podName,
    podUID,
    attempts: 1,
    launchTime,
    observedGeneration: 1,
  } as const;
  const key = { namespace: rig.namespace, name: 'example-at' };
  await rig.client.patchStatus(ats, key, { type: 'merge', body: { status } });
}

describe('an end without a Pod that the API server refuses, because the At has changed meanwhile', {
  concurrency: true,
}, () => {
  for (const outcome of outcomes) {
    const { edit, event } = ends[outcome];

    it(`is written all the same where nothing else has come of it (${outcome})`, async (t) => {
      const { rig, told, assertRefused } = await overtaken(t, edit, label);
      await assertRefused();
      assert.equal((await rig.inPhase('DONE')).status?.outcome, outcome);
      assert.ok(await rig.isPodGone());
      assert.deepEqual(await told(event), [event]);
    });

    it(`is not written where the edit was taken back (${outcome})`, async (t) => {
      const back = { schedule: farAway, startingDeadlineSeconds: 60, cancel: false };
      const { rig, assertRefused } = await overtaken(t, edit, (one) => one.editAt(back));
      await assertRefused();
      const { status } = await rig.atWhen('seen', (at) => at.status?.observedGeneration === 3);
      assert.deepEqual([status?.phase, status?.reason, status?.outcome], ['PENDING', 'Armed', undefined]);
      assert.ok(!(await rig.eventsSoFar()).includes(event));
    });
  }

  it('is not written where another replica has launched it (Missed)', async (t) => {
    const { rig, told, assertRefused } = await overtaken(t, ends.Missed.edit, launchElsewhere);
    await assertRefused();
    await rig.exit(0);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.podUID], ['Succeeded', (await rig.pod()).metadata.uid]);
    assert.ok(!(await told('Completed')).includes(ends.Missed.event));
  });
});

describe('a Pod that lands after the end of its At', { concurrency: true }, () => {
  for (const outcome of outcomes) {
    const { edit, reason, event } = ends[outcome];

    it(`is deleted with an Event where no kubelet has it, and changes nothing (${outcome})`, async (t) => {
      const { rig, told } = await overtaken(t, edit, (one) => one.createPodOf());
      assert.equal((await rig.inPhase('DONE')).status?.outcome, outcome);
      await eventually(() => rig.isPodGone(), { message: 'the Pod is gone' });
      assert.deepEqual(await told('Superseded (W)'), [event, 'Superseded (W)']);
      const note = `stopped Pod example-at-pod, which was created too late (${reason})`;
      assert.ok((await rig.notes()).includes(note), (await rig.notes()).join());
      const { status } = await rig.at();
      assert.deepEqual([status?.outcome, status?.podUID], [outcome, undefined]);
    });

    it(`is stopped with an Event where it runs, and changes nothing (${outcome})`, async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator();
      await rig.createAt({ schedule: farAway, ...edit });
      assert.equal((await rig.inPhase('DONE')).status?.outcome, outcome);
      // Before it runs it would only be deleted.
      await rig.stopOperators();
      await rig.createPodOf();
      await rig.start();
      await rig.startOperator();
      const { metadata } = await rig.stopped();
      assert.equal(metadata.annotations?.[atAnnotation.stopReason], reason);
      await eventually(async () => (await rig.events()).includes('Superseded (W)'), {
        message: 'the Event of the stop',
      });
      await rig.exit(143);
      await rig.createAt({}, 'afterwards');
      await rig.inPhase('RUNNING', 'afterwards');
      const { status } = await rig.at();
      assert.deepEqual([status?.outcome, status?.podUID, status?.exitCode], [outcome, undefined, undefined]);
    });
  }
});
