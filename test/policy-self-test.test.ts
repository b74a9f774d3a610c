import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { PolicySelfTest, type PolicySelfTestOptions } from '../src/policy-self-test.ts';
import { ApiError } from '../src/runtime/client/api-error.ts';
import type { EventRecord } from '../src/runtime/events/event-recorder.ts';
import { silentLogger } from '../src/runtime/logger.ts';
import { FakeClock } from './fake/clock.ts';

const refusal = forbidden(
  "ValidatingAdmissionPolicy 'team-atwatch-operator-pods' with binding 'b' denied request: not an At's",
);
const quota = forbidden('exceeded quota: q');

function forbidden(why: string): ApiError {
  return new ApiError(`pods "atwatch-policy-self-test" is forbidden: ${why}`, 403, { code: 403 });
}

const ofUpdates = new ApiError(
  "configwatchers \"w\" is forbidden: ValidatingAdmissionPolicy 'atwatch-operator-updates' with binding 'b' denied request",
  403,
  { code: 403 },
);

/** A self-test whose creates are answered by these in turn, the last one for ever. */
function start(t: TestContext, ...answers: readonly (Error | 'admitted')[]) {
  return startWith(t, answers, {
    watchers: [{ metadata: { namespace: 'shop', name: 'w' } }],
    patched: ofUpdates,
  });
}

interface Updates {
  readonly watchers: readonly object[] | (() => readonly object[]);
  /** The group that they are in; the other one is not served. */
  readonly group?: string;
  readonly patched: Error | 'admitted';
}

function startWith(
  t: TestContext,
  answers: readonly (Error | 'admitted')[],
  { watchers, patched, group = 'k8spatterns.io' }: Updates,
) {
  const clock = new FakeClock();
  const registry = new Registry();
  const events: EventRecord[] = [];
  let asked = 0;
  const client = {
    async create(_resource: object, object: object, options: { dryRun?: boolean }) {
      assert.equal(options.dryRun, true);
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return object;
    },
    async list(resource: { group: string }) {
      if (resource.group !== group) throw new ApiError('not found', 404, { code: 404 });
      return { items: typeof watchers === 'function' ? watchers() : watchers, resourceVersion: '1' };
    },
    async patch(resource: { group: string }, object: object, _patch: object, options: { dryRun?: boolean }) {
      assert.deepEqual([resource.group, options.dryRun], [group, true]);
      if (patched instanceof Error) throw patched;
      return object;
    },
    async get() {
      return { metadata: { namespace: 'ours', name: 'operator', uid: 'u' } };
    },
  } as unknown as PolicySelfTestOptions['client'];
  const recorder = {
    record: (_resource: object, _regarding: object, event: EventRecord) => events.push(event),
  };
  const stop = new AbortController();
  const ownPod = { namespace: 'ours', name: 'operator' };
  const test = new PolicySelfTest({
    ...{ client, clock, log: silentLogger, recorder, registry, namespace: 'default', namespaces: [], ownPod },
  });
  const ended = test.start(stop.signal);
  t.after(async () => {
    stop.abort(new Error('the end of the test'));
    await ended;
  });
  const inForce = async () =>
    /^atwatch_operator_policy_in_force (.*)$/m.exec(await registry.metrics())?.[1] ?? 'absent';
  return {
    clock,
    events,
    inForce,
    asked: () => asked,
    check: () => test.check(),
    isInForce: () => test.isInForce(),
  };
}

test('a refusal by the policy, whatever an overlay calls it, is all well for an hour', async (t) => {
  const { clock, events, inForce, asked } = start(t, refusal);
  await clock.advanceAsync(0);
  assert.equal(await inForce(), '1');
  await clock.advanceAsync(3_599_000);
  assert.equal(asked(), 1);
  await clock.advanceAsync(1000);
  assert.equal(asked(), 2);
  assert.deepEqual(events, []);
});

test('an admitted Pod is told, and so is the end of it', async (t) => {
  const { clock, events, inForce, check } = start(t, 'admitted', refusal);
  await clock.advanceAsync(0);
  assert.equal(await inForce(), '0');
  assert.throws(check, /does not bind this operator/);
  assert.deepEqual(
    events.map(({ type, reason }) => [type, reason]),
    [['Warning', 'PolicyNotInForce']],
  );
  await clock.advanceAsync(3_600_000);
  assert.equal(await inForce(), '1');
  check();
});

test('what others refuse says nothing about the policy, and is asked again after a minute', async (t) => {
  const { clock, events, inForce, asked } = start(t, quota, refusal);
  await clock.advanceAsync(0);
  assert.match(await inForce(), /^nan$/i);
  assert.equal(asked(), 1);
  await clock.advanceAsync(60_000);
  assert.equal(await inForce(), '1');
  assert.deepEqual(events, []);
});

test('a change that is admitted is told as well, and keeps Auto from workloads', async (t) => {
  const { clock, events, inForce, isInForce } = startWith(t, [refusal], {
    ...{ watchers: [{ metadata: { namespace: 'shop', name: 'w' } }], patched: 'admitted' },
  });
  assert.equal(isInForce(), true, 'before the first answer');
  await clock.advanceAsync(0);
  assert.equal(await inForce(), '0');
  assert.equal(isInForce(), false);
  assert.match(events[0]?.note ?? '', /change any workload/);
});

test('without any ConfigWatcher the answer about Pods counts', async (t) => {
  const { clock, inForce, isInForce } = startWith(t, [refusal], { watchers: [], patched: 'admitted' });
  await clock.advanceAsync(0);
  assert.deepEqual([await inForce(), isInForce()], ['1', true]);
});

test('a ConfigWatcher is looked for each minute until there is one', async (t) => {
  const stored: object[] = [];
  const { clock, isInForce } = startWith(t, [refusal], { watchers: () => stored, patched: 'admitted' });
  await clock.advanceAsync(0);
  assert.equal(isInForce(), true);
  stored.push({ metadata: { namespace: 'shop', name: 'w' } });
  await clock.advanceAsync(60_000);
  assert.equal(isInForce(), false);
});

test('a ConfigWatcher of the second group serves as well', async (t) => {
  const { clock, isInForce } = startWith(t, [refusal], {
    ...{ watchers: [{ metadata: { namespace: 'shop', name: 'w' } }], group: 'k8spatterns.com' },
    patched: 'admitted',
  });
  await clock.advanceAsync(0);
  assert.equal(isInForce(), false);
});
