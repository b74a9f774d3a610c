import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ats } from '../../../src/api/resources.ts';
import { Actuator } from '../../../src/at/act/actuator.ts';
import type { AuthorCheck } from '../../../src/at/act/author-check.ts';
import { LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { Memory } from '../../../src/at/act/memory.ts';
import type { Action } from '../../../src/at/decide/decision.ts';
import { retryPriority } from '../../../src/at/facts/queue-priority.ts';
import { isCause } from '../../../src/at/plan/cause.ts';
import { planOf } from '../../../src/at/plan/plan.ts';
import { buildPod, recordedGate } from '../../../src/at/plan/pod.ts';
import { type Pod, pods } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { WriteOptions } from '../../../src/runtime/client/call-options.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { RetryError } from '../../../src/runtime/controller/reconciler.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import {
  accepted,
  created,
  dueTime,
  launched,
  noDeparted,
  observing,
  withStatus,
} from '../../fixtures/at.ts';

const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: 'test' };
const at = accepted();
const pod = created(at);

/** Without a reason it is none of the API server. */
type Answer = readonly [code: number, reason: string, message: string] | undefined;

/** What a dry run warns of when the API server answers like this, to the strict request and to another one. */
async function warningsOf(strict: Answer, lenient: Answer): Promise<string[]> {
  const warnings: string[] = [];
  const create = async (_resource: unknown, _pod: unknown, options?: WriteOptions) => {
    assert.equal(options?.dryRun, true);
    const answer = options.fieldValidation === 'Strict' ? strict : lenient;
    if (answer !== undefined) {
      const [code, reason, message] = answer;
      throw new ApiError(message, code, { ...(reason !== '' && { kind: 'Status' }), code, reason, message });
    }
  };
  const actuator = new Actuator({
    client: { create } as unknown as Client,
    clock: new FakeClock(),
    departed: noDeparted,
    memory: new Memory(),
    turns: new LaunchTurns(new FakeClock()),
    recorder: { record: (_resource, _at, { note }) => warnings.push(note) },
  });
  const performed = await actuator.perform({ type: 'DryRunPod', pod }, observing({ at }), context);
  const rejection = performed.next === 'decide' ? performed.facts.preflight?.rejection?.message : undefined;
  if (rejection !== undefined) warnings.push(rejection);
  return warnings;
}

/** Performs a create that the API server answers like this. */
async function createFailing(error: Error, memory: Memory, ambiguous: boolean): Promise<unknown> {
  const actuator = new Actuator({
    client: { create: () => Promise.reject(error) } as unknown as Client,
    clock: new FakeClock(),
    departed: noDeparted,
    memory,
    turns: new LaunchTurns(new FakeClock()),
    recorder: { record: () => assert.fail('no Event') },
  });
  const action = { type: 'CreatePod', pod, attempt: 1 } as const;
  return actuator.perform(action, observing({ at, ambiguous }), context).catch((caught: unknown) => caught);
}

/** Whether the Pod may exist after such an answer. */
async function mayExistAfter(error: Error): Promise<boolean> {
  const memory = new Memory();
  await createFailing(error, memory, false);
  return memory.recall(at).ambiguous ?? false;
}

describe('a create', () => {
  const rows: [string, Error, boolean][] = [
    ['408, the time limit of the API server', new ApiError('timeout', 408, {}), true],
    ['500', new ApiError('etcd', 500, {}), true],
    ['504', new ApiError('timeout', 504, {}), true],
    ['429', new ApiError('busy', 429, {}), false],
    ['403', new ApiError('quota', 403, { kind: 'Status' }), false],
    ['401', new ApiError('no token', 401, {}), false],
    ['403 with the page of a proxy', new ApiError('<html>', 403, {}), true],
    ['404 with the page of a proxy', new ApiError('<html>', 404, {}), true],
    ['a connection cut after the request was sent', new TransportError('reset', true), true],
    ['a connection that was never made', new TransportError('refused', false), false],
  ];
  for (const [answer, error, expected] of rows) {
    it(`may ${expected ? '' : 'not '}have happened after ${answer}`, async () => {
      assert.equal(await mayExistAfter(error), expected);
    });
  }
});

describe('a create that succeeded', () => {
  it('is remembered with the default image of its Pod, which the next attempt has, too', async () => {
    const memory = new Memory();
    const actuator = new Actuator({
      client: { create: async () => pod } as unknown as Client,
      ...{ clock: new FakeClock(), memory, departed: noDeparted, turns: new LaunchTurns(new FakeClock()) },
      recorder: { record: () => assert.fail('no Event') },
    });
    const [plan, image] = [planOf(at), 'registry.example/tools:1'];
    assert.ok(!isCause(plan));
    const action = { type: 'CreatePod', pod: buildPod(at, plan, 1, { image }), attempt: 1 } as const;
    await actuator.perform(action, observing({ at }), context);
    assert.equal(memory.recall(at).launch?.defaultImage, image);
  });

  const rows: [string, number, number][] = [
    ['when its answer came', 4250, 4250],
    [
      'in the second the API server names, where the process stood still before it read the answer',
      200_000,
      0,
    ],
    ['in that second, too, where the clock of a machine that was suspended is behind', -130_000, 0],
  ];
  for (const [when, answeredAfter, expected] of rows) {
    it(`was launched ${when}`, async () => {
      const createdAt = Math.floor(dueTime / 1000) * 1000;
      const [clock, memory] = [new FakeClock({ now: createdAt + answeredAfter }), new Memory()];
      const actuator = new Actuator({
        client: { create: async () => created(at, createdAt) } as unknown as Client,
        ...{ clock, memory, departed: noDeparted, turns: new LaunchTurns(clock) },
        recorder: { record: () => assert.fail('no Event') },
      });
      await actuator.perform({ type: 'CreatePod', pod, attempt: 1 }, observing({ at }), context);
      assert.equal(memory.recall(at).launch?.launchTime, createdAt + expected);
    });
  }
});

describe('a create of a Pod that starts nothing', () => {
  it('follows another one ever later while no status is written: somebody deletes them', async () => {
    const clock = new FakeClock();
    const memory = new Memory();
    let creates = 0;
    const actuator = new Actuator({
      client: { create: async () => ++creates && pod } as unknown as Client,
      ...{ clock, memory, departed: noDeparted, turns: new LaunchTurns(clock) },
      recorder: { record: () => assert.fail('no Event') },
    });
    const gated = { ...pod, spec: { ...pod.spec, schedulingGates: [{ name: recordedGate }] } };
    const create = () =>
      actuator.perform({ type: 'CreatePod', pod: gated, attempt: 1 }, observing({ at }), context);
    const waits: number[] = [];
    for (let tries = 1; tries <= 3; tries += 1) {
      await create();
      const paused = await create();
      assert.equal(creates, tries);
      assert.ok(paused.next === 'end');
      waits.push(paused.result?.requeueAfter ?? 0);
      clock.advance(waits.at(-1) ?? 0);
    }
    assert.deepEqual(waits, [250, 500, 1000]);
    await create();
    memory.written(at);
    await create();
    assert.equal(creates, 5);
  });
});

describe('a create that failed', () => {
  const rows: [string, Error, boolean][] = [
    ['for too many requests', new ApiError('busy', 429, {}), false],
    ['for too many requests, after one that may have happened', new ApiError('busy', 429, {}), true],
    ['because it could not be sent', new TransportError('refused', false), false],
  ];
  for (const [how, error, ambiguous] of rows) {
    it(`${how}, is tried again as before`, async () => {
      const thrown = await createFailing(error, new Memory(), ambiguous);
      assert.ok(thrown instanceof RetryError);
      assert.equal(thrown.priority, undefined);
    });
  }

  for (const error of [new ApiError('failed calling webhook', 500, {}), new TransportError('reset', true)]) {
    it(`by ${error.name} is tried again behind all others`, async () => {
      assert.deepEqual(await createFailing(error, new Memory(), true), {
        next: 'end',
        result: { requeueAfter: 250, priority: retryPriority },
      });
    });
  }
});

/** What the client is asked for when this is performed, which is a delete. */
async function deletesFor(action: Action): Promise<unknown[]> {
  const calls: unknown[] = [];
  const actuator = new Actuator({
    client: { delete: async (...call: unknown[]) => calls.push(call) } as unknown as Client,
    clock: new FakeClock(),
    departed: noDeparted,
    memory: new Memory(),
    turns: new LaunchTurns(new FakeClock()),
    recorder: { record: () => assert.fail('no Event') },
  });
  await actuator.perform(action, observing({ at }), context);
  return calls;
}

describe('the deletion of a Pod', () => {
  const of = { type: 'DeletePod', namespace: 'n', name: 'p', uid: 'u' } as const;
  for (const version of [{}, { resourceVersion: '7' }]) {
    it(`is one of that very Pod${'resourceVersion' in version ? ', in that version' : ''}`, async () => {
      const action = { ...of, ...version };
      const options = { uid: 'u', ...version, signal: context.signal };
      assert.deepEqual(await deletesFor(action), [[pods, action, options]]);
    });
  }
});

describe('the end of an At', () => {
  it('is a delete of that very version, whose Pods follow by garbage collection', async () => {
    const action = { type: 'DeleteAt', namespace: 'n', name: 'a', uid: 'u', resourceVersion: '7' } as const;
    const { signal } = context;
    const options = { uid: 'u', resourceVersion: '7', propagationPolicy: 'Background', signal };
    assert.deepEqual(await deletesFor(action), [[ats, action, options]]);
  });
});

describe('a dry run', () => {
  const quota = [403, 'Forbidden', 'exceeded quota'] as const;
  const unreadable = 'Pod in version "v1" cannot be handled as a Pod';
  const unknown = [
    400,
    'BadRequest',
    `${unreadable}: strict decoding error: unknown field "spec.foo"`,
  ] as const;
  const rows = [
    [quota, true],
    [[422, 'Invalid', 'Pod "example-at-pod" is invalid: spec.dnsPolicy: Unsupported value'], true],
    [[400, 'BadRequest', `${unreadable}: json: cannot unmarshal string into Go struct field`], true],
    [[400, 'BadRequest', 'admission webhook "a.b.c" denied the request: no limits'], true],
    [[400, 'BadRequest', 'admission webhook "a.b.c" does not support dry run'], false],
    [[500, 'InternalError', `${unreadable}: out of memory`], false],
    [[403, '', 'the page of a proxy'], false],
  ] as const;
  for (const [answer, isTold] of rows) {
    const [code, , message] = answer;
    it(`${isTold ? 'warns of' : 'is silent about'} ${code} ${message}`, async () => {
      assert.deepEqual(await warningsOf(answer, answer), isTold ? [message] : []);
    });
  }

  it('warns of a field that does not exist, and of what else there is', async () => {
    const warning = `${unknown[2]}: the Pod is created without it`;
    assert.deepEqual(await warningsOf(unknown, undefined), [warning]);
    assert.deepEqual(await warningsOf(unknown, quota), [warning, 'exceeded quota']);
  });
});

describe('the create of a Pod whose author is asked about', () => {
  /** What became of it, and the Pods that were created. */
  async function createFor(authorize: AuthorCheck['authorize']) {
    const sent: Pod[] = [];
    const actuator = new Actuator({
      client: {
        create: async (_resource: unknown, object: Pod) => {
          sent.push(object);
          return { ...object, metadata: { ...object.metadata, uid: 'pod-uid' } };
        },
      } as unknown as Client,
      ...{
        clock: new FakeClock(),
        memory: new Memory(),
        departed: noDeparted,
        turns: new LaunchTurns(new FakeClock()),
      },
      authorCheck: { authorize } as AuthorCheck,
      recorder: { record: () => assert.fail('no Event') },
    });
    const action = { type: 'CreatePod', pod, attempt: 1 } as const;
    return { performed: await actuator.perform(action, observing({ at }), context), sent };
  }

  it('names the author on the Pod', async () => {
    const { performed, sent } = await createFor(async () => ({ username: 'ann' }));
    assert.equal(performed.next, 'goOn');
    assert.equal(sent[0]?.metadata.annotations?.['cnat.programming-kubernetes.info/author'], 'ann');
  });

  it('is not sent when the author may not create Pods, and the next decision knows why', async () => {
    const { performed, sent } = await createFor(async () => ({ refusal: 'no' }));
    assert.deepEqual(sent, []);
    assert.ok(performed.next === 'decide');
    assert.deepEqual(performed.facts.refusal, { reason: 'NotAuthorized', message: 'no' });
  });

  it('is not sent either while the API server has no answer, for which the author is not blamed', async () => {
    const { performed, sent } = await createFor(() => Promise.reject(new Error('timeout')));
    assert.deepEqual(sent, []);
    assert.ok(performed.next === 'decide');
    const { reason, message = '' } = performed.facts.refusal ?? {};
    assert.equal(reason, 'CreateFailed');
    assert.match(message, /^it is not known whether .*: timeout$/);
  });
});

describe('a release that the API server refuses', () => {
  it('is told by the next decision, and tried again later each time', async () => {
    const refusal = new ApiError('webhook is down', 500, { kind: 'Status', code: 500 });
    const memory = new Memory();
    const actuator = new Actuator({
      client: { patch: () => Promise.reject(refusal) } as unknown as Client,
      ...{ clock: new FakeClock(), memory, departed: noDeparted },
      turns: new LaunchTurns(new FakeClock()),
      recorder: { record: () => assert.fail('no Event') },
    });
    const gated = { ...pod, spec: { ...pod.spec, schedulingGates: [{ name: recordedGate }] } };
    const delays: (number | undefined)[] = [];
    for (let time = 0; time < 2; time++) {
      const answer = await actuator.perform({ type: 'ReleasePod', pod: gated }, observing({ at }), context);
      assert.equal(answer.next, 'decide');
      const facts = answer.next === 'decide' ? answer.facts : undefined;
      assert.match(facts?.refusal?.message ?? '', /waits for its release, which fails: webhook is down$/);
      delays.push(facts?.retryDelay);
    }
    assert.deepEqual(delays, [250, 500]);
    assert.notEqual(memory.recall(at).unreleasedSince, undefined, 'which is why it comes late');
  });
});

describe('a stop that the API server refuses', () => {
  it('stands in status, and is tried again', async () => {
    const refusal = new ApiError('no right', 403, { kind: 'Status', code: 403, reason: 'Forbidden' });
    const written: unknown[] = [];
    const client = {
      patch: () => Promise.reject(refusal),
      patchStatus: async (_resource: unknown, _key: unknown, { body }: { readonly body: object }) => {
        written.push(body);
        return at;
      },
    };
    const actuator = new Actuator({
      client: client as unknown as Client,
      ...{ clock: new FakeClock(), memory: new Memory(), departed: noDeparted },
      turns: new LaunchTurns(new FakeClock()),
      recorder: { record: () => assert.fail('no Event') },
    });
    const key = { namespace: 'default', name: 'example-at-pod' };
    const ifRefused = { ...at.status, reason: 'Canceled' };
    const patch = { type: 'PatchPod', ...key, body: {}, ifRefused } as const;
    await assert.rejects(actuator.perform(patch, observing({ at }), context), refusal);
    const { resourceVersion } = at.metadata;
    assert.deepEqual(written, [{ metadata: { resourceVersion }, status: { reason: 'Canceled' } }]);
  });
});

describe('a status that a proxy answers with 404', () => {
  it('has failed, and is what a launch that is due waits for', async () => {
    const page = new ApiError('404 page not found', 404, {});
    const fail = () => Promise.reject(page);
    const memory = new Memory();
    const clock = new FakeClock();
    clock.advance(dueTime + 1000 - clock.now());
    const actuator = new Actuator({
      client: { patchStatus: fail, get: fail } as unknown as Client,
      ...{ clock, memory, departed: noDeparted, turns: new LaunchTurns(clock) },
      recorder: { record: () => assert.fail('no Event') },
    });
    const action = { type: 'WriteStatus', status: { phase: 'RUNNING' }, asLock: true } as const;
    await assert.rejects(actuator.perform(action, observing({ at }), context), page);
    assert.equal(memory.recall(at).heldUpSince, clock.now());
  });
});

describe('a status whose answer is lost', () => {
  it('tells its Events, and nothing else of the decision follows where the At was edited since', async () => {
    const status = { ...at.status, reason: 'Evicted' };
    const generation = (at.metadata.generation ?? 0) + 1;
    const edited = { ...at, metadata: { ...at.metadata, generation, resourceVersion: '1000' }, status };
    const told: string[] = [];
    const client = {
      patchStatus: () => Promise.reject(new TransportError('cut', true)),
      get: async () => edited,
      create: () => assert.fail('no Pod'),
    };
    const actuator = new Actuator({
      client: client as unknown as Client,
      ...{ clock: new FakeClock(), memory: new Memory(), departed: noDeparted },
      turns: new LaunchTurns(new FakeClock()),
      recorder: { record: (_resource, _object, { reason }) => void told.push(reason) },
    });
    const event = { type: 'Warning', reason: 'Disrupted', action: 'Watch', note: 'evicted' } as const;
    let { next, facts } = { next: 'goOn', facts: observing({ at }) };
    for (const effect of [
      { type: 'WriteStatus', status, asLock: true },
      { type: 'RecordEvents', events: [event] },
      { type: 'CreatePod', pod: created(at), attempt: 2 },
    ] as const) {
      assert.equal(next, 'goOn');
      const answer = await actuator.perform(effect, facts, context);
      assert.ok(answer.next !== 'end');
      ({ next, facts } = answer);
    }
    assert.deepEqual([next, told, facts.at.metadata.generation], ['decide', ['Disrupted'], generation]);
  });
});

describe('a Pod that waits for its release', () => {
  const down = new TransportError('no answer', true);
  const gated = { ...created(at), spec: { ...created(at).spec, schedulingGates: [{ name: recordedGate }] } };
  for (const what of ['status', 'read'] as const) {
    it(`is not late by the operator while a ${what} fails that comes first`, async () => {
      const memory = new Memory();
      const clock = new FakeClock();
      const fail = () => Promise.reject(down);
      const actuator = new Actuator({
        client: { patchStatus: fail, get: fail, list: fail } as unknown as Client,
        ...{ clock, memory, departed: noDeparted, turns: new LaunchTurns(clock) },
        recorder: { record: () => assert.fail('no Event') },
      });
      const observed = observing({ at: launched(), pod: gated });
      const status = { phase: 'RUNNING' } as const;
      const tried =
        what === 'read'
          ? actuator.read('pods', observed, context)
          : actuator.perform({ type: 'WriteStatus', status, asLock: false }, observed, context);
      await assert.rejects(tried);
      assert.equal(memory.recall(observed.at).unreleasedSince, clock.now());
    });
  }
});

describe('a live read that fails', () => {
  const failure = new ApiError('etcdserver: request timed out', 500, {});

  function reading(startAt: number, error: Error) {
    const clock = new FakeClock();
    clock.advance(startAt - clock.now());
    const actuator = new Actuator({
      client: { get: () => Promise.reject(error) } as unknown as Client,
      ...{ clock, memory: new Memory(), departed: noDeparted, turns: new LaunchTurns(clock) },
      recorder: { record: () => assert.fail('no Event') },
    });
    return { clock, actuator };
  }

  /** What becomes of reads that fail with this, from the instant on: after which wait, and what is told. */
  async function lookInVain(error: Error, untilMs: number, of = at) {
    const { clock, actuator } = reading(dueTime, error);
    const looks: { readonly afterMs: number; readonly told?: string | undefined; readonly wait: number }[] =
      [];
    while (clock.now() < dueTime + untilMs) {
      const afterMs = clock.now() - dueTime;
      const answer = await actuator.read('pods', observing({ at: of }), context);
      const isEnd = answer.next === 'end';
      const wait = (isEnd ? answer.result.requeueAfter : answer.facts.retryDelay) ?? 0;
      looks.push({ afterMs, told: isEnd ? undefined : answer.facts.refusal?.message, wait });
      clock.advance(wait);
    }
    return looks;
  }

  for (const [error, most] of [
    [failure, 10_000],
    [new TransportError('connection reset', true), 2000],
  ] as const) {
    it(`is told from 2 s on, and repeated less and less often: ${error.name}`, async () => {
      const looks = await lookInVain(error, 40_000);
      assert.deepEqual([looks[0]?.wait, looks.at(-1)?.wait], [250, most]);
      const message = `what there is of its Pod could not be read: ${error.message}`;
      for (const { afterMs, told } of looks) assert.equal(told, afterMs < 2000 ? undefined : message);
    });
  }

  it('leaves in status what a create has met', async () => {
    const message = 'failed calling webhook "w"';
    const held = withStatus(at, { ...at.status, reason: 'CreateFailed', message });
    const looks = await lookInVain(failure, 10_000, held);
    assert.deepEqual([...new Set(looks.map(({ told }) => told))], [undefined, message]);
  });

  it('fails the pass where no launch waits for it, where it was told already, and at the end of the process', async () => {
    const early = reading(dueTime - 1000, failure).actuator;
    await assert.rejects(early.read('pods', observing({ at }), context), failure);
    const { actuator } = reading(dueTime + 5000, failure);
    const refusal = { reason: 'CreateFailed', message: '' } as const;
    await assert.rejects(actuator.read('pods', observing({ at, refusal }), context), failure);
    const ended = { ...context, signal: AbortSignal.abort() };
    await assert.rejects(actuator.read('pods', observing({ at }), ended), failure);
  });
});
