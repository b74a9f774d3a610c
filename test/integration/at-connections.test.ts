/** At, when connections between the operator and the API server break, on the real one. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import {
  type Asked,
  failure,
  Hold,
  HostileProxy,
  lostAnswer,
  noAnswer,
  type Treatment,
} from './hostile-proxy.ts';
import { aroundPodCreates } from './pod-creates.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const isCreate = ({ method, path }: Asked) => method === 'POST' && path.endsWith('/pods');

/** Breaks the connection in the middle of the answer. */
function brokenAnswer(): { through: Transform } {
  const transform = (_chunk: unknown, _encoding: string, done: (error: Error) => void) =>
    done(new Error('the connection breaks'));
  return { through: new Transform({ transform }) };
}

/** What the API server, or a load balancer in front of it, answers in place of the 201. */
const page502 = { code: 502, body: '502 Bad Gateway', headers: { 'content-type': 'text/plain' } };

/** How the answer to the first create is lost. */
const losses: Readonly<Record<string, () => Treatment>> = {
  'a connection that breaks before it': () => lostAnswer,
  'a connection that breaks in the middle of it': brokenAnswer,
  'a connection that is dead': () => ({ instead: noAnswer }),
  'a 500 in its place': () => ({ instead: failure(500, 'InternalError') }),
  'a 504 in its place': () => ({ instead: failure(504, 'Timeout') }),
  'the page of a load balancer in its place': () => ({ instead: page502 }),
};

/** The answer is lost, and the watch, which would show the Pod, is silent until the API server was asked for it. */
async function adoptsAfter(t: TestContext, loss: () => Treatment, spec: Partial<AtSpec>): Promise<void> {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  const created = await rig.watchPods(t);
  const watch = new Hold();
  const asked: string[] = [];
  proxy.treat = (one) => {
    if (one.path.endsWith('/pods') && one.query.has('watch')) return { through: watch.through() };
    if (one.path.endsWith('/pods/example-at-pod')) asked.push(one.method);
    if (!isCreate(one)) return undefined;
    asked.push('POST');
    return asked.length === 1 ? loss() : undefined;
  };
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  watch.begin();
  await rig.createAt(spec);
  const { status } = await rig.inPhase('RUNNING');
  watch.end();
  const pod = await rig.pod();
  assert.deepEqual([status?.podUID, status?.attempts], [pod.metadata.uid, 1]);
  assert.deepEqual([condition(status, 'Launched'), status?.reason], ['True Launched', undefined]);
  const createdAt = parseTime(pod.metadata.creationTimestamp ?? '');
  const launchTime = parseTime(status?.launchTime ?? '');
  // Under ExactlyOnce that is its release.
  assert.ok(spec.launchGuarantee === 'ExactlyOnce' ? launchTime >= createdAt : launchTime === createdAt);
  assert.deepEqual(asked.slice(0, 2), ['POST', 'GET'], 'it asks what has become of its Pod');
  assert.equal(asked.filter((method) => method === 'POST').length, 1);
  const isReleased = async () => ((await rig.pod()).spec.schedulingGates ?? []).length === 0;
  await eventually(isReleased, { message: 'nothing keeps the Pod from its start' });
  await rig.exit(0);
  assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  assert.equal(created.size, 1);
  const told = async () => (await rig.events()).includes('Completed') && rig.events();
  const events = await eventually(told, { message: 'the end is told' });
  // Where no answer has come for seconds, that was told.
  assert.deepEqual(
    events.filter((event) => event !== 'CreateFailed (W)'),
    ['Launched', 'Completed'],
  );
}

describe('an answer that is lost after the API server has stored the Pod', { concurrency: true }, () => {
  for (const [how, loss] of Object.entries(losses)) {
    for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
      it(`by ${how} leaves one Pod, which is adopted, with ${launchGuarantee}`, (t) =>
        adoptsAfter(t, loss, { launchGuarantee }));
    }
  }
});

/** For `onConnect` of an operator: the codes of all answers to creates of Pods that are meant. */
function noteAnswers(answers: number[]) {
  return aroundPodCreates((send) => {
    const answer = send();
    answer.then(
      () => answers.push(201),
      (error) => answers.push(error instanceof ApiError ? error.code : 0),
    );
    return answer;
  });
}

describe('a Pod of the At that the operator has not seen yet', () => {
  it('is adopted by the one create that finds its name taken', async (t) => {
    const rig = await AtRig.create(t);
    const { options, proxy, advance } = await timeTravel(t);
    const created = await rig.watchPods(t);
    const watch = new Hold();
    proxy.treat = ({ path, query }) =>
      path.endsWith('/pods') && query.has('watch') ? { through: watch.through() } : undefined;
    const answers: number[] = [];
    await rig.startOperator({ ...options, onConnect: noteAnswers(answers) });
    // Nearer than a watch may be silent, and further than a slow machine takes to come there.
    const leadMs = 25_000;
    await rig.createAt({ schedule: new Date(Date.now() + leadMs).toISOString() });
    const isTried = () => proxy.asked.some((one) => isCreate(one) && one.query.has('dryRun'));
    await eventually(isTried, { message: 'its Pod is tried' });
    await rig.atWhen('accepted', ({ status }) => condition(status, 'Accepted') === 'True Armed');
    watch.begin();
    const { metadata } = await rig.createPodOf();
    assert.deepEqual(answers, []);
    await advance(leadMs);
    const { status } = await rig.inPhase('RUNNING');
    assert.deepEqual([status?.podUID, status?.attempts], [metadata.uid, 1]);
    assert.equal(parseTime(status?.launchTime ?? ''), parseTime(metadata.creationTimestamp ?? ''));
    watch.end();
    assert.deepEqual(await rig.eventsSoFar(), ['Launched']);
    assert.deepEqual(answers, [409]);
    assert.equal(created.size, 1);
  });
});

describe('an API server that refuses connections for a while', () => {
  it('has the create of a due At within two seconds after it is back', async (t) => {
    const rig = await AtRig.create(t);
    const { options, proxy, advanceUntil, stopClock } = await timeTravel(t);
    const registry = new Registry();
    await rig.startOperator({ ...options, registry });
    const { name, due } = await rig.createWaiting(
      () => proxy.leave(),
      () => proxy.comeBack(),
    );
    await eventually(() => Date.now() > due, { timeout: 150_000, message: 'the At is due' });
    stopClock();
    const failures = async () => {
      const series = /^controller_runtime_reconcile_total\{controller="at",result="error"\} (\d+)$/m;
      return Number(series.exec(await registry.metrics())?.[1]);
    };
    // After so many in a row a backoff without a limit of its own would be longer.
    await advanceUntil(async () => (await failures()) >= 10, { limitMs: 200_000, stepMs: 500 });
    // A try that is under way fails all the same, on a busy machine some time after the API server is back.
    let known = 0;
    const isSettled = async () => {
      const before = known;
      known = await failures();
      return known === before;
    };
    await eventually(isSettled, { interval: 500, message: 'no try is under way' });
    await proxy.comeBack();
    const from = proxy.asked.length;
    // The longest backoff may have just begun, and a timer rounds the last fraction of a millisecond up.
    await advanceUntil(() => proxy.asked.slice(from).some(isCreate), { limitMs: 2100 });
    await eventually(async () => !(await rig.isPodGone(`${name}-pod`)), { message: 'its Pod is there' });
  });
});
