/** I21: whatever a reconciler or a callback returns or throws, the controller goes on with all its keys. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CallbackFaults } from '../../../src/runtime/callback.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { ControllerOptions } from '../../../src/runtime/controller/controller.ts';
import { type Reconciler, RetryError } from '../../../src/runtime/controller/reconciler.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { recordingLogger, startController, widget } from './fixtures.ts';

const second = 1000;

function getterThatThrows(name: string, object: object): object {
  return Object.defineProperty(object, name, {
    get: () => {
      throw new Error(`${name} cannot be read`);
    },
  });
}

const cyclic = new Error('its own cause');
cyclic.cause = cyclic;

const failures: readonly { readonly name: string; readonly fails: () => unknown }[] = [
  { name: 'an object without a text', fails: () => Promise.reject(Object.create(null)) },
  { name: 'an error that is its own cause', fails: () => Promise.reject(cyclic) },
  {
    name: 'an error whose message cannot be read',
    fails: () => Promise.reject(getterThatThrows('message', new Error('x'))),
  },
  {
    name: 'an error whose cause cannot be read',
    fails: () => Promise.reject(getterThatThrows('cause', new Error('x'))),
  },
  { name: 'a result that cannot be read', fails: () => getterThatThrows('requeueAfter', {}) },
  { name: 'a promise that cannot be awaited', fails: () => getterThatThrows('then', {}) },
  { name: 'a priority that is a symbol', fails: () => ({ requeueAfter: 1, priority: Symbol('s') }) },
  { name: 'a requeueAfter that is a text', fails: () => ({ requeueAfter: '5' }) },
  {
    name: 'a requeueAfter that is an object without a text',
    fails: () => ({ requeueAfter: Object.create(null) }),
  },
  {
    name: 'a Retry-After of NaN',
    fails: () => Promise.reject(new ApiError('slow down', 429, {}, Number.NaN)),
  },
  {
    name: 'a Retry-After of -1',
    fails: () => Promise.reject(new ApiError('slow down', 429, {}, -1)),
  },
  {
    name: 'a Retry-After of ever',
    fails: () => Promise.reject(new ApiError('slow down', 429, {}, Infinity)),
  },
  {
    name: 'a Retry-After of two hours',
    fails: () => Promise.reject(new ApiError('slow down', 429, {}, 7200 * second)),
  },
  {
    name: 'a RetryError that was changed',
    fails: () =>
      Promise.reject(Object.assign(new RetryError('no', 1), { maxDelay: Number.NaN, priority: 0.5 })),
  },
];

/** Runs `a` into a failure and then into nothing; tells when each run began. */
function startFailing(fails: () => unknown, options: ControllerOptions = {}) {
  const runs: string[] = [];
  const world = startController(
    (async ({ name }) => {
      runs.push(name);
      if (name === 'a' && runs.length === 1) return await (fails() as Promise<object>);
      return {};
    }) as Reconciler['reconcile'],
    options,
  );
  return { ...world, runs };
}

describe('I21: a reconciler that ends with', () => {
  for (const { name, fails } of failures) {
    it(`${name} is tried again after its backoff, beside the others`, { timeout: 10_000 }, async () => {
      const { informer, clock, log, runs, stop, state, running } = startFailing(fails);
      informer.sync(widget('a'), widget('b'));
      await settle();
      assert.deepEqual(runs, ['a', 'b']);
      assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1);
      await clock.advanceAsync(4);
      assert.deepEqual(runs, ['a', 'b']);
      await clock.advanceAsync(1);
      assert.deepEqual(runs, ['a', 'b', 'a']);
      assert.equal(state.stopped, false);
      stop.abort();
      await running;
    });
  }
});

describe('I21: a callback of the controller that', () => {
  const bang = () => {
    throw new TypeError('boom');
  };
  const rows: readonly {
    readonly name: string;
    readonly options: ControllerOptions;
    readonly callback: string;
  }[] = [
    { name: 'throws: flowOf', options: { flowOf: bang }, callback: 'flowOf' },
    {
      name: 'throws: rateLimiter',
      options: { rateLimiter: { when: bang, forget: bang, retries: bang } },
      callback: 'rateLimiter.when',
    },
    {
      name: 'is no number: rateLimiter',
      options: { rateLimiter: { when: () => Number.NaN, forget() {}, retries: () => 0 } },
      callback: 'rateLimiter.when',
    },
  ];
  for (const { name, options, callback } of rows) {
    it(`${name} stops nothing, and one line names it`, async () => {
      const { informer, clock, log, runs, stop, running } = startFailing(
        () => Promise.reject(new Error('no')),
        options,
      );
      informer.sync(widget('a'), widget('b'));
      await clock.advanceAsync(5);
      assert.deepEqual(runs.sort(), ['a', 'a', 'b']);
      const named = log.lines.filter((line) => line.fields.callback === callback);
      assert.equal(named.length, 1);
      stop.abort();
      await running;
    });
  }

  it('fails again and again is logged once a minute, with how often it did', () => {
    const clock = new FakeClock();
    const log = recordingLogger();
    const faults = new CallbackFaults(clock, log);
    const fault = {
      callback: 'flowOf',
      key: 'default/a',
      error: new Error('no'),
      consequence: 'a default is used',
    };
    for (let count = 0; count < 5; count++) faults.report(fault);
    faults.report({ ...fault, callback: 'rateLimiter.when' });
    clock.advance(60 * second);
    faults.report(fault);
    assert.deepEqual(
      log.lines.map(({ fields }) => [fields.callback, fields.suppressed]),
      [
        ['flowOf', 0],
        ['rateLimiter.when', 0],
        ['flowOf', 4],
      ],
    );
  });
});
