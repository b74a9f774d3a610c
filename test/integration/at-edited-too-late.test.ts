/** Edits of an At that is DONE, on a real API server: whatever they say, its end stays as it is. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { At, AtSpec, AtStatus } from '../../src/api/at.generated.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { conditions } from '../fixtures/at.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

/** By outcome: a spec, and what brings the At to its end where the spec alone does not. */
const ways: Readonly<Record<string, readonly [Partial<AtSpec>, ((rig: AtRig) => Promise<void>)?]>> = {
  Succeeded: [{}, (rig) => rig.exit(0)],
  Failed: [{ backoffLimit: 0 }, (rig) => rig.exit(3)],
  Missed: [{ startingDeadlineSeconds: 1 }],
  Canceled: [{ cancel: true }],
};

const template = (dnsPolicy: string) => ({ spec: { dnsPolicy, containers: [{}] } });

/** Each of them would count before the end, and on top of those before it. */
const edits = (): ReadonlyArray<readonly [string, Partial<AtSpec>]> => [
  ['a command whose quotation does not end', { command: `echo 'a` }],
  ['a template that the API server refuses', { command: 'echo a', template: template('Nowhere') }],
  ['what could run at once', { command: 'echo NO', image: 'alpine', template: template('Default') }],
  ['a time to come', { schedule: seconds(Date.now() + 3_600_000) }],
  ['a suspension', { suspend: true }],
  ['the end of the suspension', { suspend: false }],
  // Of an At that was canceled, a cancel alone would be no edit.
  ['a cancel', { cancel: true, ttlSecondsAfterFinished: 3600 }],
  ['a cancel that is taken back', { cancel: false }],
  ['other promises', { disruptionPolicy: 'Retry', launchGuarantee: 'ExactlyOnce' }],
  ['a past time', { schedule: '2019-01-01T00:00:00Z' }],
  ['a deadline that has passed', { startingDeadlineSeconds: 2 }],
  // In the zone data of Go, hence of the API server, and not in that of Node.js.
  ['a time zone that does not exist', { schedule: '2019-07-01T09:00:00', timeZone: 'Factory' }],
];

async function ended(t: TestContext, outcome: string) {
  const [spec, end] = ways[outcome] ?? [{}];
  const rig = await AtRig.create(t);
  const created = await rig.watchPods(t);
  await rig.startOperator();
  await rig.createAt(spec);
  if (end !== undefined) {
    await rig.inPhase('RUNNING');
    await end(rig);
  }
  const at = await rig.inPhase('DONE');
  assert.equal(at.status?.outcome, outcome);
  return { rig, at, created };
}

/** All that status says of the run. */
function runOf({ observedGeneration: _, conditions: __, ...run }: AtStatus = {}) {
  return run;
}

/** The API server takes the edit, the operator sees it, and nothing else is said than before. */
async function assertNoEffect(rig: AtRig, before: At, [what, edit]: readonly [string, Partial<AtSpec>]) {
  const { metadata } = await rig.at();
  const { generation = 0 } = (await rig.editAt(edit)).metadata;
  assert.equal(generation, (metadata.generation ?? 0) + 1, `${what} is an edit`);
  const isSeen = ({ status }: At) => status?.observedGeneration === generation;
  const { status } = await rig.atWhen(`seen with ${what}`, isSeen);
  const expected = { ...conditions(before.status), Accepted: 'True EditedTooLate' };
  assert.deepEqual(conditions(status), expected, what);
  for (const { type, observedGeneration } of status?.conditions ?? []) {
    assert.equal(observedGeneration, generation, `${type} after ${what}`);
  }
  assert.deepEqual(runOf(status), runOf(before.status), what);
}

/** The Pod of the run, if there is one, and its version. */
async function podOf({
  client,
  namespace,
}: AtRig): Promise<ReadonlyArray<readonly [uid?: string | undefined, version?: string | undefined]>> {
  const { items } = await client.list(pods, { namespace });
  return items
    .filter(({ metadata }) => metadata.name.startsWith('example-at-pod'))
    .map(({ metadata: { uid, resourceVersion } }) => [uid, resourceVersion]);
}

/** Runs another At. What an edit had brought about would have come by the time of its Pod, and of its Event. */
async function runAnother(rig: AtRig, created: ReadonlySet<string>): Promise<string> {
  await rig.createAt({}, 'afterwards');
  const { podUID = '' } = (await rig.inPhase('RUNNING', 'afterwards')).status ?? {};
  await eventually(() => created.has(podUID), { message: 'the later Pod is seen' });
  const isTold = async () => (await rig.events('afterwards')).includes('Launched');
  await eventually(isTold, { message: 'the later launch is told' });
  return podUID;
}

describe('an edit of an At that is DONE', { concurrency: true }, () => {
  for (const [outcome, events] of [
    ['Succeeded', ['Launched', 'Completed']],
    ['Failed', ['Launched', 'Failed (W)']],
    ['Missed', ['MissedDeadline (W)']],
    ['Canceled', ['Canceled']],
  ] as const) {
    it(`changes nothing where it has ${outcome}, also when it makes no sense`, async (t) => {
      const { rig, at, created } = await ended(t, outcome);
      const toldAll = async () => (await rig.events()).length === events.length;
      await eventually(toldAll, { message: 'the end is told' });
      const pod = await podOf(rig);
      for (const edit of edits()) await assertNoEffect(rig, at, edit);
      const podUID = await runAnother(rig, created);
      assert.deepEqual([...created], [...pod.map(([uid]) => uid), podUID]);
      assert.deepEqual(await podOf(rig), pod);
      assert.deepEqual(await rig.events(), events);
      assert.deepEqual(runOf((await rig.at()).status), runOf(at.status));
    });
  }
});
