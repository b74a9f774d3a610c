/** The result switch: one row per way in which a reconcile can end. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import {
  type Reconciler,
  type Result,
  RetryError,
  TerminalError,
} from '../../../src/runtime/controller/reconciler.ts';
import { settle } from '../../fake/clock.ts';
import { series, startController, widget } from './fixtures.ts';

const second = 1000;
const day = 24 * 3600 * second;
const wallNow = Date.UTC(2024, 0, 1);

interface Row {
  readonly name: string;
  readonly reconcile: Reconciler['reconcile'];
  /** Milliseconds until the second run; undefined: never. */
  readonly again?: number;
  readonly result: 'success' | 'error' | 'requeue_after';
  readonly terminal?: boolean;
  readonly panic?: boolean;
  readonly level?: 'debug' | 'error';
  /** The backoff is back at its beginning. */
  readonly forgets?: boolean;
}

function gives(result: Result): Reconciler['reconcile'] {
  return async () => result;
}

function fails(error: unknown): Reconciler['reconcile'] {
  return () => Promise.reject(error);
}

const tooMany = (retryAfter: number) =>
  new ApiError('slow down', 429, { reason: 'TooManyRequests' }, retryAfter);

const rows: readonly Row[] = [
  { name: 'nothing to do', reconcile: gives({}), result: 'success', forgets: true },
  {
    name: 'undefined, from JavaScript',
    reconcile: (async () => undefined) as never,
    result: 'success',
    forgets: true,
  },
  {
    name: 'requeueAfter',
    reconcile: gives({ requeueAfter: 5 * second }),
    result: 'requeue_after',
    again: 5 * second,
    forgets: true,
  },
  {
    name: 'requeueAt',
    reconcile: gives({ requeueAt: wallNow + day }),
    result: 'requeue_after',
    again: day,
    forgets: true,
  },
  {
    name: 'requeueAfter before requeueAt',
    reconcile: gives({ requeueAfter: 5 * second, requeueAt: wallNow + day }),
    result: 'requeue_after',
    again: 5 * second,
    forgets: true,
  },
  {
    name: 'requeueAt before requeueAfter',
    reconcile: gives({ requeueAfter: 30 * day, requeueAt: wallNow + day }),
    result: 'requeue_after',
    again: day,
    forgets: true,
  },
  { name: 'error', reconcile: fails(new Error('no')), result: 'error', again: 5 },
  {
    name: 'ApiError with Retry-After',
    reconcile: fails(tooMany(7 * second)),
    result: 'error',
    again: 7 * second,
  },
  {
    name: 'Retry-After further down the causes',
    reconcile: fails(new Error('cannot create Pod', { cause: tooMany(7 * second) })),
    result: 'error',
    again: 7 * second,
  },
  {
    name: 'RetryError caps a Retry-After',
    reconcile: fails(new RetryError('due now', 2 * second, { cause: tooMany(7 * second) })),
    result: 'error',
    again: 2 * second,
  },
  {
    name: 'TerminalError',
    reconcile: fails(new TerminalError('never')),
    result: 'error',
    terminal: true,
    forgets: true,
  },
  {
    name: 'thrown outside the promise',
    reconcile: () => {
      throw new Error('sync');
    },
    result: 'error',
    panic: true,
    again: 5,
  },
  { name: 'rejected with no Error', reconcile: fails('just text'), result: 'error', panic: true, again: 5 },
  { name: 'rejected with undefined', reconcile: fails(undefined), result: 'error', panic: true, again: 5 },
  { name: 'requeueAfter NaN', reconcile: gives({ requeueAfter: Number.NaN }), result: 'error', again: 5 },
  { name: 'requeueAfter negative', reconcile: gives({ requeueAfter: -1 }), result: 'error', again: 5 },
  { name: 'requeueAfter infinite', reconcile: gives({ requeueAfter: Infinity }), result: 'error', again: 5 },
  { name: 'requeueAt NaN', reconcile: gives({ requeueAt: Number.NaN }), result: 'error', again: 5 },
  {
    name: 'priority no integer',
    reconcile: gives({ requeueAfter: 1, priority: 0.5 }),
    result: 'error',
    again: 5,
  },
];

describe('Controller: what follows from a result', () => {
  for (const row of rows) {
    it(row.name, async () => {
      let runs = 0;
      const { informer, clock, registry, log, stop, running } = startController((request, context) => {
        runs++;
        // From the second run on there is nothing to do, so that the first one alone is seen.
        return runs === 1 ? row.reconcile(request, context) : Promise.resolve({});
      });
      informer.sync(widget('a'));
      await settle();
      assert.equal(runs, 1);
      assert.deepEqual(await counted(registry), expected(row));
      const level = row.result === 'error' ? 'error' : 'debug';
      const lines = log.lines.filter(({ message }) => message.startsWith('reconcile'));
      assert.deepEqual(
        lines.map((line) => line.level),
        [level],
      );
      assert.equal(lines[0]?.fields.name, 'a');

      if (row.again === undefined) {
        assert.equal(clock.pendingTimers, 0);
        await clock.advanceAsync(3600 * second);
        assert.equal(runs, 1);
      } else {
        await clock.advanceAsync(row.again - 1);
        assert.equal(runs, 1, 'not before');
        await clock.advanceAsync(1);
        assert.equal(runs, 2, 'then');
      }
      stop.abort();
      await running;
    });
  }

  async function counted(registry: Parameters<typeof series>[0]): Promise<Record<string, number>> {
    const all = await series(registry, 'controller_runtime_');
    return Object.fromEntries(
      Object.entries(all)
        .filter(([name]) => !/_sum|workers|max_concurrent/.test(name))
        .map(([name, value]) => [
          name
            .replace('controller_runtime_', '')
            .replace(/controller="widget",?/, '')
            .replace('{}', ''),
          value,
        ]),
    );
  }

  function expected({ result, terminal = false, panic = false }: Row): Record<string, number> {
    return {
      'reconcile_total{result="success"}': Number(result === 'success'),
      'reconcile_total{result="error"}': Number(result === 'error'),
      'reconcile_total{result="requeue"}': 0,
      'reconcile_total{result="requeue_after"}': Number(result === 'requeue_after'),
      reconcile_errors_total: Number(result === 'error'),
      terminal_reconcile_errors_total: Number(terminal),
      reconcile_panics_total: Number(panic),
      reconcile_timeouts_total: 0,
      reconcile_hangs_total: 0,
      hanging_reconciles: 0,
      'reconcile_slowed_total{cause="requeue"}': 0,
      'reconcile_slowed_total{cause="retry"}': 0,
      'reconcile_slowed_total{cause="own_write"}': 0,
      reconcile_time_seconds_count: 1,
    };
  }

  for (const { name, reconcile, forgets = false } of rows.filter(
    ({ name }) => name !== 'RetryError caps a Retry-After',
  )) {
    it(`${name}: ${forgets ? 'forgets' : 'counts'} the failures before it`, async () => {
      const failure = new Error('once more');
      let runs = 0;
      const { informer, clock, stop, running } = startController((request, context) => {
        runs++;
        if (runs <= 4 || runs === 6) return Promise.reject(failure);
        return runs === 5 ? reconcile(request, context) : Promise.resolve({});
      });
      informer.sync(widget('a'));
      await clock.advanceAsync(5 + 10 + 20 + 40);
      assert.equal(runs, 5);
      informer.add(widget('a'));
      await settle();
      assert.equal(runs, 6);
      // One failure after a clean slate: 5 ms. The sixth in a row: 5 · 2⁵.
      const wait = forgets ? 5 : 160;
      await clock.advanceAsync(wait - 1);
      assert.equal(runs, 6);
      await clock.advanceAsync(1);
      assert.equal(runs, 7);
      stop.abort();
      await running;
    });
  }

  it('I4: an error beats a requeue; the backoff alone counts', async () => {
    // A rejected promise carries no result, so the nearest thing: a requeue of an earlier run, then an error.
    let runs = 0;
    const { informer, clock, stop, running } = startController(async () => {
      runs++;
      if (runs === 1) return { requeueAfter: 3600 * second };
      throw new Error('no');
    });
    informer.sync(widget('a'));
    await settle();
    informer.add(widget('a'));
    await settle();
    assert.equal(runs, 2);
    await clock.advanceAsync(5);
    assert.equal(runs, 3, 'after the backoff, not after an hour');
    stop.abort();
    await running;
  });

  it('I3: an event during requeueAfter runs at once and takes the place of the requeue', async () => {
    const at: number[] = [];
    const { informer, clock, stop, running } = startController(async () => {
      at.push(clock.monotonic());
      return at.length === 1 ? { requeueAfter: 10 * second } : {};
    });
    const start = clock.monotonic();
    informer.sync(widget('a'));
    await clock.advanceAsync(3 * second);
    informer.add(widget('a'));
    await clock.advanceAsync(60 * second);
    assert.deepEqual(at, [start, start + 3 * second]);
    stop.abort();
    await running;
  });

  it('an event during the reconcile is not delayed by its requeueAfter', async () => {
    let runs = 0;
    const { informer, stop, running } = startController(async ({ name }) => {
      runs++;
      if (runs === 1) informer.add(widget(name));
      return runs === 1 ? { requeueAfter: 3600 * second } : {};
    });
    informer.sync(widget('a'));
    await settle();
    assert.equal(runs, 2);
    stop.abort();
    await running;
  });

  it('a requeue has the priority of its result, a retry that of its error or of the run that failed', async () => {
    const order: string[] = [];
    const block = Promise.withResolvers<object>();
    const failures: Record<string, Error> = {
      'retried low': new Error('no'),
      'retried high': new Error('no'),
      'retried last': new Error('no', { cause: new RetryError('no', 5, { priority: -200 }) }),
    };
    const { informer, clock, stop, running } = startController(
      async ({ name }) => {
        const first = !order.includes(name);
        order.push(name);
        if (name === 'blocker' && !first) await block.promise;
        if (!first) return {};
        const failure = failures[name];
        if (failure) throw failure;
        return name === 'due' ? { requeueAfter: 5, priority: 100 } : { requeueAfter: 4 };
      },
      { priority: ({ spec }) => spec?.size ?? 0 },
    );
    informer.sync(
      { ...widget('retried low'), spec: { size: -100 } },
      widget('blocker'),
      widget('ordinary'),
      { ...widget('retried high'), spec: { size: 50 } },
      { ...widget('retried last'), spec: { size: 70 } },
      widget('due'),
    );
    await settle();
    assert.equal(order.length, 6);
    informer.add(widget('blocker'));
    await clock.advanceAsync(5);
    block.resolve({});
    await settle();
    assert.deepEqual(order.slice(6), [
      'blocker',
      'due',
      'retried high',
      'ordinary',
      'retried low',
      'retried last',
    ]);
    stop.abort();
    await running;
  });

  it('maxBackoff caps the backoff', async () => {
    let runs = 0;
    const { informer, clock, stop, running } = startController(
      async () => {
        runs++;
        throw new Error('no');
      },
      { maxBackoff: 10 },
    );
    informer.sync(widget('a'));
    await clock.advanceAsync(5 + 10 * 100);
    assert.equal(runs, 102);
    stop.abort();
    await running;
  });

  it('logs answers of the API server without a stack, defects with', async () => {
    const errors = [
      new ApiError('pods "a" is forbidden', 403, { reason: 'Forbidden' }),
      new TransportError('socket hang up', true),
      new TypeError('x is not a function'),
    ];
    const { informer, clock, log, stop, running } = startController(async () => {
      throw errors.shift() ?? new TerminalError('enough');
    });
    informer.sync(widget('a'));
    await clock.advanceAsync(second);
    const logged = log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields.err);
    assert.deepEqual(logged[0], {
      type: 'ApiError',
      message: 'pods "a" is forbidden',
      code: 403,
      reason: 'Forbidden',
    });
    assert.deepEqual(logged[1], { type: 'TransportError', message: 'socket hang up', sent: true });
    const defect = logged[2] as { type: string; stack: string };
    assert.equal(defect.type, 'TypeError');
    assert.match(defect.stack, /results\.test\.ts/);
    stop.abort();
    await running;
  });
});
