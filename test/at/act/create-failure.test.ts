import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { CreateFailures } from '../../../src/at/act/create-failure.ts';
import { LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { readTimeoutMs } from '../../../src/at/act/live-read.ts';
import { Memory } from '../../../src/at/act/memory.ts';
import { StatusWriter } from '../../../src/at/act/status-writer.ts';
import { recordedGate } from '../../../src/at/plan/pod.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import { accepted, created, dueTime, launched, longBeforeDue, observing } from '../../fixtures/at.ts';

const at = accepted();

function apiError(code: number, reason: string, retryAfter?: number): ApiError {
  return new ApiError(
    `${reason}!`,
    code,
    { kind: 'Status', code, reason, message: `${reason}!` },
    retryAfter,
  );
}

describe('a create that is turned away', () => {
  const world = () => {
    const [clock, memory] = [new FakeClock(), new Memory()];
    const failures = new CreateFailures({ clock, memory, turns: new LaunchTurns(clock) });
    const fail = (error: Error, sentAt = clock.monotonic()) =>
      failures.failed(at, error, created(at), sentAt, silentLogger);
    return { clock, memory, failures, fail };
  };

  for (const error of [apiError(429, 'TooManyRequests'), apiError(401, 'Unauthorized')]) {
    it(`is told as CreateFailed where its reason lasts: ${error.code}`, () => {
      const { clock, memory, fail } = world();
      assert.equal(fail(error), undefined);
      clock.advance(1999);
      assert.equal(fail(error), undefined);
      clock.advance(1);
      assert.deepEqual(fail(error)?.failure, { reason: 'CreateFailed', message: error.message });
      memory.created(at);
      assert.equal(fail(error), undefined);
    });
  }

  it('counts the time for which the client has repeated it', () => {
    const { clock, fail } = world();
    const busy = apiError(429, 'TooManyRequests');
    const sentAt = clock.monotonic();
    clock.advance(4500);
    const failure = { reason: 'CreateFailed', message: busy.message };
    assert.deepEqual(fail(busy, sentAt)?.failure, failure);
  });

  it('is not tried again for ten seconds once it is told, unless the At is edited', () => {
    const { clock, failures, fail } = world();
    const busy = apiError(429, 'TooManyRequests');
    assert.deepEqual([fail(busy), failures.wait(at)], [undefined, undefined]);
    clock.advance(2000);
    const { failure } = fail(busy) ?? {};
    clock.advance(9000);
    const { waitMs, failure: known } = failures.wait(at) ?? {};
    assert.deepEqual([waitMs, known], [1000, failure]);
    const edited = { ...at, metadata: { ...at.metadata, generation: 2 } };
    assert.equal(failures.wait(edited), undefined);
    clock.advance(1000);
    assert.equal(failures.wait(at), undefined);
  });

  it('is told as CreateFailed from the page of a proxy, which has not looked at the Pod', () => {
    const { fail } = world();
    const page = new ApiError('POST https://api/…: HTTP 403: blocked', 403, {
      code: 403,
      message: 'blocked',
    });
    const cause = '403';
    assert.deepEqual(fail(page)?.failure, {
      reason: 'CreateFailed',
      message: page.message,
      ...{ cause, isAnswered: true },
    });
    assert.equal(fail(apiError(403, 'Forbidden'))?.failure.reason, 'PodRejected');
  });

  it('waits for as long as the API server asks', () => {
    const { clock, fail } = world();
    const busy = apiError(429, 'TooManyRequests', 30_000);
    fail(busy);
    clock.advance(2000);
    assert.equal(fail(busy)?.waitMs, 30_000);
  });

  it('is not told where it was never sent', () => {
    const { clock, fail } = world();
    const unsent = new TransportError('not sent', false);
    fail(unsent);
    clock.advance(60_000);
    assert.equal(fail(unsent), undefined);
  });
});

describe('an At that waits because the creates of others are refused', () => {
  it('is not late through the fault of the operator', () => {
    const [clock, memory] = [new FakeClock({ now: dueTime }), new Memory()];
    const turns = new LaunchTurns(clock);
    const failures = new CreateFailures({ clock, memory, turns });
    assert.equal(failures.wait(at), undefined);
    assert.equal(memory.recall(at).waitsSince, undefined);
    for (let index = 0; index < 8; index++) {
      const { namespace = '' } = at.metadata;
      const candidate = {
        key: `${namespace}/${index}`,
        namespace,
        version: { uid: `${index}`, generation: 1 },
      };
      turns.failed(candidate, 'full', { reason: 'PodRejected', message: 'exceeded quota' });
    }
    clock.advance(100);
    assert.equal(failures.wait(at)?.failure.reason, 'PodRejected');
    clock.advance(60_000);
    failures.wait(at);
    const { waitsSince, heldUpSince } = memory.recall(at);
    assert.deepEqual([waitsSince, heldUpSince], [dueTime + 100, undefined]);
  });
});

describe('an At whose turn it is where the creates of others are refused', () => {
  /** The At has its turn, and another one of its namespace waits for it. */
  const inTurn = () => {
    const [clock, memory] = [new FakeClock({ now: dueTime }), new Memory()];
    const woken: string[] = [];
    const turns = new LaunchTurns(clock, (key) => woken.push(key));
    const failures = new CreateFailures({ clock, memory, turns });
    const full = apiError(403, 'exceeded quota: small, requested: pods=1');
    const other = { ...at, metadata: { ...at.metadata, name: 'other', uid: 'other' } };
    const fail = (one: At, error: Error) =>
      failures.failed(one, error, created(one), clock.monotonic(), silentLogger);
    for (const one of [at, other]) fail(one, full);
    clock.advance(250);
    assert.deepEqual(woken, ['default/example-at']);
    return { clock, failures, fail, woken };
  };
  const next = ['default/example-at', 'default/other'];

  it('passes it on where its own Pod alone is refused', () => {
    const { fail, woken } = inTurn();
    const wait = fail(at, apiError(422, 'Invalid'));
    assert.deepEqual([woken, wait?.failure.reason], [next, 'PodRejected']);
  });

  it('passes it on where its author may not create Pods', () => {
    const { clock, failures, woken } = inTurn();
    const refusal = { reason: 'NotAuthorized', message: 'its author may not create Pods' };
    failures.notSent(at, refusal, clock.monotonic());
    assert.deepEqual(woken, next);
  });

  it('keeps the others waiting where its Pod is refused for the cause of all', () => {
    const { fail, woken } = inTurn();
    fail(at, apiError(403, 'exceeded quota: small, requested: pods=1'));
    assert.deepEqual(woken, ['default/example-at']);
  });
});

describe('a create that is not answered', () => {
  const failAfter = (passed: number) => {
    const [clock, memory] = [new FakeClock({ now: dueTime }), new Memory()];
    const failures = new CreateFailures({ clock, memory, turns: new LaunchTurns(clock) });
    const sentAt = clock.monotonic();
    clock.advance(passed);
    const wait = failures.failed(at, new TransportError('cut', true), created(at), sentAt, silentLogger);
    assert.ok(wait);
    const { next } = failures.hold(observing({ at }), wait);
    return { isTold: next === 'decide', heldUpSince: memory.recall(at).heldUpSince };
  };

  it('has failed since it was sent: where that took long it is told at once', () => {
    assert.deepEqual(failAfter(4000), { isTold: true, heldUpSince: dueTime });
    assert.deepEqual(failAfter(100), { isTold: false, heldUpSince: dueTime });
  });

  it('has failed since now where the process stood still: that was no fault of the API server', () => {
    assert.deepEqual(failAfter(10_000), { isTold: false, heldUpSince: dueTime + 10_000 });
  });
});

/** What memory keeps of an At once a status was written for it that the API server answers late, with an error or not. */
async function afterWrite(
  now: number,
  { writeMs = 0, error, pod }: { writeMs?: number; error?: Error | undefined; pod?: Pod | undefined },
) {
  const [clock, memory] = [new FakeClock({ now }), new Memory()];
  const get = async () => {
    clock.advance(readTimeoutMs);
    throw new TransportError('timeout', true);
  };
  const patchStatus = async () => {
    clock.advance(writeMs);
    if (error !== undefined) throw error;
    return at;
  };
  const writer = new StatusWriter({ client: { patchStatus, get } as unknown as Client, clock, memory });
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: '' };
  const facts = observing({ at: pod === undefined ? at : launched(), pod });
  await writer.write({ reason: 'PodRejected' }, true, facts, context).catch(() => {});
  return memory.recall(at);
}

describe('a status that is answered late', () => {
  const answered = async (now: number, writeMs: number, more: { error?: Error; pod?: Pod } = {}) =>
    (await afterWrite(now, { writeMs, ...more })).slowAnswers;
  const span = [{ from: dueTime, to: dueTime + 4000 }];

  it('has kept a launch, or a release, for that time, whatever the answer', async () => {
    assert.deepEqual(await answered(dueTime, 4000), span);
    assert.deepEqual(await answered(dueTime, 4000, { error: apiError(409, 'Conflict') }), span);
    const spec = { ...created(at).spec, schedulingGates: [{ name: recordedGate }] };
    assert.deepEqual(await answered(dueTime, 4000, { pod: { ...created(at), spec } }), span);
  });

  it('has kept nothing that was quick, that the process slept through, or that nothing waits for', async () => {
    assert.equal(await answered(dueTime, 900), undefined);
    assert.equal(await answered(dueTime, 10_000), undefined);
    assert.equal(await answered(dueTime - 60_000, 4000), undefined, 'the At is not due');
    assert.equal(await answered(dueTime, 4000, { pod: created(at) }), undefined, 'it runs');
  });
});

describe('a status that the API server does not take', () => {
  /** @param writeMs how long the write takes. */
  const writeAt = async (now: number, error: Error, writeMs = 0) =>
    (await afterWrite(now, { writeMs, error })).heldUpSince;

  it('keeps a due At from its launch, which is not the fault of the operator', async () => {
    assert.equal(await writeAt(dueTime + 1, apiError(500, 'InternalError')), dueTime + 1);
    assert.equal(await writeAt(dueTime + 1, new TransportError('cut', true)), dueTime + 1);
  });

  it('does so since it failed, however long the look for it takes', async () => {
    const error = new TransportError('timeout', true);
    assert.equal(await writeAt(dueTime + 1, error, 3000), dueTime + 1);
  });

  it('excuses nothing before it is due, nor where another writer was faster', async () => {
    assert.equal(await writeAt(longBeforeDue, apiError(500, 'InternalError')), undefined);
    assert.equal(await writeAt(dueTime + 1, apiError(409, 'Conflict')), undefined);
  });
});

describe('a create that is refused for a reason of its own', () => {
  const invalid = new ApiError('Pod "p" is invalid: spec.runtimeClassName', 422, {
    ...{ kind: 'Status', code: 422, reason: 'Invalid', message: 'Pod "p" is invalid: spec.runtimeClassName' },
  });
  const quota = new ApiError('exceeded quota: q, requested: pods=1', 403, {
    ...{ kind: 'Status', code: 403, reason: 'Forbidden', message: 'exceeded quota: q, requested: pods=1' },
  });
  const named = (name: string): At => ({ ...at, metadata: { ...at.metadata, name, uid: `uid-of-${name}` } });

  /** A line of eight whose creates a quota refuses, so that the next one is taken for one of them. */
  const world = () => {
    const [clock, memory] = [new FakeClock(), new Memory()];
    const failures = new CreateFailures({ clock, memory, turns: new LaunchTurns(clock) });
    const fail = (one: At, error: Error) =>
      failures.failed(one, error, created(one), clock.monotonic(), silentLogger);
    for (const name of 'abcdefgh') fail(named(name), quota);
    return { clock, failures, fail };
  };

  it('waits for itself, and in no line of others', () => {
    const { clock, failures, fail } = world();
    const waitMs = fail(at, invalid)?.waitMs ?? 0;
    assert.ok(waitMs > 0);
    const { failure } = failures.wait(at) ?? {};
    assert.match(failure?.message ?? '', /runtimeClassName/);
    clock.advance(waitMs - 1);
    assert.equal(failures.wait(at)?.waitMs, 1);
    clock.advance(1);
    assert.equal(failures.wait(at), undefined, 'it is tried again');
    const later = fail(at, invalid)?.waitMs ?? 0;
    assert.ok(later > waitMs, `${later} after ${waitMs} ms`);
  });

  it('is tried at once when it was edited, and joins the line when the quota refuses it', () => {
    const { clock, failures, fail } = world();
    fail(at, invalid);
    const edited = { ...at, metadata: { ...at.metadata, generation: 7 } };
    assert.notEqual(failures.wait(edited)?.failure.message, invalid.message);
    clock.advance(60_000);
    fail(at, quota);
    assert.match(failures.wait(at)?.failure.message ?? '', /exceeded quota/);
  });
});
