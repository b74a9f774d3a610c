/** Guards: a reconcile that wakes itself is slowed down, and what it writes does not shorten its backoff. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { currentScope } from '../../../src/runtime/controller/reconcile-scope.ts';
import { type Reconciler, RetryError, TerminalError } from '../../../src/runtime/controller/reconciler.ts';
import { type FakeClock, settle } from '../../fake/clock.ts';
import { fc } from '../../fixtures/property.ts';
import { type FakeInformer, series, startController, type Widget, widget } from './fixtures.ts';

const second = 1000;

/** An API server with one widget: a write shows in the informer `lag` ms later, or before its answer. */
class Server {
  readonly informer: FakeInformer<Widget>;
  readonly clock: FakeClock;
  readonly lag: number;
  current = widget('a', { resourceVersion: '1', generation: 1 });
  #version = 1;

  constructor(informer: FakeInformer<Widget>, clock: FakeClock, lag: number) {
    this.informer = informer;
    this.clock = clock;
    this.lag = lag;
  }

  /** Writes with an answer, as the client of a reconciler does; without a precondition unless `isOwn`. */
  async write(metadata: Partial<Widget['metadata']> = {}, { isOwn = true } = {}): Promise<void> {
    const written = this.foreign(metadata);
    await Promise.resolve();
    currentScope()?.wrote(written, isOwn);
  }

  /** Patches what is there already, without a precondition: the answer is the current object. */
  async writeNothing(): Promise<void> {
    await Promise.resolve();
    currentScope()?.wrote(this.current, false);
  }

  /** Creates an object that wakes the same key, and deletes it; `lag` ms later both show. */
  async createAndDelete(name: string): Promise<void> {
    const made = widget('a', { uid: `uid-${name}` });
    await Promise.resolve();
    currentScope()?.wrote(made, true);
    this.#show(() => this.informer.add(made));
    currentScope()?.wrote({ namespace: 'default', name, uid: `uid-${name}`, deleted: true }, true);
    this.#show(() => this.informer.remove(made));
  }

  /** Takes the last finalizer of another object away that wakes the same key. */
  async endObject(run: number): Promise<void> {
    const held = widget('a', { uid: `held-${run}`, deletionTimestamp: '2024-01-01T00:00:00Z' });
    currentScope()?.wrote(held, true);
    this.#show(() => this.informer.remove(held));
  }

  #show(show: () => void): void {
    if (this.lag === 0) show();
    else this.clock.setTimer(this.lag, show);
  }

  /** Another client writes. */
  foreign(metadata: Partial<Widget['metadata']> = {}): Widget {
    const previous = this.current;
    const resourceVersion = String(++this.#version);
    const current = { ...previous, metadata: { ...previous.metadata, ...metadata, resourceVersion } };
    this.current = current;
    this.#show(() => this.informer.update(previous, current));
    return current;
  }
}

function start(reconcile: (server: Server, run: number) => ReturnType<Reconciler['reconcile']>, lag = 0) {
  const runs: number[] = [];
  const holder: { server?: Server } = {};
  const world = startController(async () => {
    runs.push(world.clock.monotonic());
    assert.ok(holder.server);
    return await reconcile(holder.server, runs.length);
  });
  const server = new Server(world.informer, world.clock, lag);
  holder.server = server;
  world.informer.sync(server.current);
  const end = async () => {
    world.stop.abort();
    await world.running;
  };
  const warnings = () => world.log.lines.filter(({ level }) => level === 'warn');
  const slowed = async () => {
    const counted = await series(world.registry, 'controller_runtime_reconcile_slowed_total');
    return Object.values(counted).reduce((sum, value) => sum + value, 0);
  };
  return { ...world, server, runs, end, warnings, slowed };
}

interface Loop {
  readonly name: string;
  readonly cause: string;
  readonly reconcile: (server: Server) => ReturnType<Reconciler['reconcile']>;
  readonly lag?: number;
}

const loops: readonly Loop[] = [
  { name: 'requeueAfter: 0', cause: 'requeue', reconcile: async () => ({ requeueAfter: 0 }) },
  { name: 'requeueAfter: 1', cause: 'requeue', reconcile: async () => ({ requeueAfter: 1 }) },
  { name: 'a requeueAt of the past', cause: 'requeue', reconcile: async () => ({ requeueAt: 0 }) },
  {
    name: 'a status with the time in it',
    cause: 'own_write',
    reconcile: async (server) => {
      await server.write();
      return {};
    },
  },
  {
    name: 'a status with the time in it that the watch shows later',
    cause: 'own_write',
    lag: 3,
    reconcile: async (server) => {
      await server.write();
      return { requeueAfter: 60 * second };
    },
  },
  {
    name: 'a terminal error after a status write',
    cause: 'own_write',
    reconcile: async (server) => {
      await server.write();
      throw new TerminalError('no');
    },
  },
  {
    name: 'a deletion that it asks for again and again',
    cause: 'own_write',
    reconcile: async (server) => {
      const { resourceVersion } = server.current.metadata;
      await server.write({ deletionTimestamp: `deleted at ${resourceVersion}` }, { isOwn: false });
      return {};
    },
  },
  ...[0, 5, 40].map((delay) => ({
    name: `errors that are to wait ${delay} ms`,
    cause: 'retry',
    reconcile: () => Promise.reject(new RetryError('no', delay)),
  })),
];

describe('Guards: a reconcile that wakes itself by', () => {
  for (const { name, cause, reconcile, lag } of loops) {
    it(`${name} is slowed down, logged once with its cause, and counted`, async () => {
      const world = start(reconcile, lag);
      await world.clock.advanceAsync(8 * second);
      const { length } = world.runs;
      assert.ok(length >= 20 && length <= 20 + 8 * 20, `${length} runs in 8 s`);
      assert.deepEqual(
        world.warnings().map(({ fields }) => [fields.cause, fields.namespace, fields.name]),
        [[cause, 'default', 'a']],
      );
      assert.ok((await world.slowed()) >= 20);
      await world.end();
    });

    it(`${name} ends up at about one run a second, for as long as it goes on`, async () => {
      const world = start(reconcile, lag);
      await world.clock.advanceAsync(60 * second);
      const { length } = world.runs;
      await world.clock.advanceAsync(60 * second);
      assert.ok(world.runs.length - length <= 70, `${world.runs.length - length} runs in a minute`);
      assert.ok(world.runs.length - length >= 50, `${world.runs.length - length} runs in a minute`);
      assert.equal(world.warnings().length, 1);
      await world.end();
    });
  }

  const progressing: readonly {
    readonly name: string;
    readonly reconcile: (server: Server, run: number) => ReturnType<Reconciler['reconcile']>;
  }[] = [
    {
      name: 'creating and deleting by turns, and asking for the next run',
      reconcile: async (_, run) => {
        currentScope()?.wrote(widget(`made-${run}`), true);
        currentScope()?.wrote({ namespace: 'default', name: 'a', uid: `made-${run}`, deleted: true }, true);
        return { requeueAfter: 0 };
      },
    },
    {
      name: 'creating and deleting by turns, which its informer shows',
      reconcile: async (server, run) => {
        await server.createAndDelete(`made-${run}`);
        return {};
      },
    },
    {
      name: 'changing its own spec, which its informer shows',
      reconcile: async (server, run) => {
        await server.write({ generation: run + 1 });
        return {};
      },
    },
  ];
  for (const { name, reconcile } of progressing) {
    it(`${name} is slowed down after a thousand steps of progress`, async () => {
      const world = start(reconcile);
      for (let turn = 0; turn < 30; turn++) await settle();
      const { length } = world.runs;
      assert.ok(length >= 500 && length <= 1100, `${length} runs at once`);
      await world.clock.advanceAsync(60 * second);
      assert.ok(world.runs.length - length <= 160, `${world.runs.length - length} runs in a minute`);
      assert.equal(world.warnings().length, 1);
      await world.end();
    });
  }

  it('requeueAfter: 0 acts at once on what others do', async () => {
    const world = start(async () => ({ requeueAfter: 0 }));
    await world.clock.advanceAsync(30 * second);
    const { length } = world.runs;
    for (let edit = 1; edit <= 5; edit++) {
      world.server.foreign();
      await settle();
      assert.equal(world.runs.length, length + edit);
    }
    await world.end();
  });

  it('requeueAfter: 0 is itself again after a quiet time', async () => {
    let isBusy = true;
    const world = start(async () => (isBusy ? { requeueAfter: 0 } : {}));
    await world.clock.advanceAsync(5 * second);
    isBusy = false;
    await world.clock.advanceAsync(5 * second);
    isBusy = true;
    const { length } = world.runs;
    world.server.foreign();
    await settle();
    assert.ok(world.runs.length - length >= 20, `${world.runs.length - length} runs at once`);
    await world.end();
  });
});

describe('Guards: nothing is slowed down', () => {
  const total = 300;
  const steps: readonly {
    readonly name: string;
    readonly step: (server: Server, run: number) => Promise<unknown>;
  }[] = [
    {
      name: 'that creates one object after the other',
      step: async (_, run) => currentScope()?.wrote(widget(`made-${run}`), true),
    },
    {
      name: 'that deletes one object after the other',
      step: async (_, run) =>
        currentScope()?.wrote({ namespace: 'default', name: `old-${run}`, deleted: true }, true),
    },
    {
      name: 'that changes one spec step by step',
      step: (server, run) => server.write({ generation: run }),
    },
  ];
  for (const { name, step } of steps) {
    it(`${name}, by requeueAfter: 0`, async () => {
      const world = start(async (server, run) => {
        await step(server, run);
        return run < total ? { requeueAfter: 0 } : {};
      });
      for (let turn = 0; turn < 10; turn++) await settle();
      assert.ok(world.runs.length >= total, `${world.runs.length} runs`);
      assert.deepEqual(world.warnings(), []);
      await world.end();
    });
  }

  it('that others wake, however often', async () => {
    const world = start(async () => ({}));
    await settle();
    for (let edit = 1; edit <= 200; edit++) {
      world.server.foreign();
      await settle();
      assert.equal(world.runs.length, edit + 1);
    }
    assert.equal(await world.slowed(), 0);
    await world.end();
  });

  it('that polls twenty times a second', async () => {
    const world = start(async () => ({ requeueAfter: 50 }));
    await world.clock.advanceAsync(20 * second);
    assert.ok(world.runs.length >= 400);
    assert.equal(await world.slowed(), 0);
    await world.end();
  });

  it('that fails, with the default backoff', async () => {
    const world = start(async () => {
      throw new Error('no');
    });
    await world.clock.advanceAsync(10.3 * second);
    assert.equal(world.runs.length, 12);
    assert.equal(await world.slowed(), 0);
    await world.end();
  });
});

describe('Guards: the backoff of a key whose reconcile wrote and failed', () => {
  const fails = async (server: Server) => {
    await server.write();
    throw new Error('no');
  };
  for (const lag of [0, 1, 700]) {
    it(`is not shortened by the event of that write, ${lag} ms later`, async () => {
      const world = start(fails, lag);
      await world.clock.advanceAsync(5 * (2 ** 10 - 1));
      assert.equal(world.runs.length, 11, '5 ms · 2ⁿ');
      await world.end();
    });

    it(`ends with a foreign edit, ${lag} ms later`, async () => {
      const world = start(fails, lag);
      await world.clock.advanceAsync(5 * (2 ** 10 - 1) + lag);
      const { length } = world.runs;
      world.server.foreign();
      await world.clock.advanceAsync(lag);
      assert.equal(world.runs.length, length + 1);
      await world.end();
    });
  }

  it('ends with a foreign edit that came before the answer to the own write', async () => {
    const world = start(async (server, run) => {
      if (run === 3) server.foreign();
      return await fails(server);
    });
    await world.clock.advanceAsync(5 + 10);
    assert.equal(world.runs.length, 4);
    await world.end();
  });

  const shown: readonly { readonly name: string; readonly metadata: Partial<Widget['metadata']> }[] = [
    { name: 'a changed spec', metadata: { generation: 2 } },
    { name: 'a deletion', metadata: { deletionTimestamp: '2024-01-01T00:00:00Z' } },
  ];
  for (const { name, metadata } of shown) {
    it(`ends when the event of the own write shows ${name} as well`, async () => {
      const world = start(async (server, run) => {
        if (run === 3) await server.write(metadata);
        throw new Error('no');
      });
      await world.clock.advanceAsync(5 + 10);
      assert.equal(world.runs.length, 4);
      await world.end();
    });
  }

  const doubtful = {
    'a write without a precondition': (server: Server) => server.write({}, { isOwn: false }),
    'a change of its spec': (server: Server, run: number) => server.write({ generation: run + 1 }),
  };
  for (const [name, write] of Object.entries(doubtful)) {
    it(`is kept, but for one run, when each run makes ${name}`, async () => {
      const world = start(async (server, run) => {
        await write(server, run);
        throw new Error('no');
      });
      await world.clock.advanceAsync(5 * (2 ** 10 - 1));
      assert.ok(world.runs.length <= 12, `${world.runs.length} runs, and 11 by 5 ms · 2ⁿ`);
      await world.end();
    });
  }

  it('ends when the informer shows the foreign version that a patch without effect was answered with', async () => {
    const world = start(async (server, run) => {
      if (run === 9) {
        server.foreign();
        await server.writeNothing();
      }
      throw new Error('its informer is behind');
    }, 100);
    await world.clock.advanceAsync(5 * (2 ** 8 - 1));
    assert.equal(world.runs.length, 9);
    await world.clock.advanceAsync(100);
    assert.equal(world.runs.length, 10, 'the backoff would last 1280 ms');
    await world.end();
  });

  it('ends at once again after a success, however many of its own versions were doubtful before', async () => {
    const world = start(async (server, run) => {
      if (run < 8) await server.write({}, { isOwn: false });
      if (run === 8) return {};
      if (run === 14) {
        server.foreign();
        await server.writeNothing();
      }
      throw new Error('no');
    }, 1);
    await world.clock.advanceAsync(second);
    world.server.foreign();
    await world.clock.advanceAsync(1);
    while (world.runs.length < 14) await world.clock.advanceAsync(1);
    await world.clock.advanceAsync(1);
    assert.equal(world.runs.length, 15);
    await world.end();
  });

  const ownEvents: Readonly<Record<string, (server: Server, run: number) => Promise<unknown>>> = {
    'an own version that a patch without effect was answered with as well': async (server) => {
      await server.write();
      await server.writeNothing();
    },
    'an own deletion': (server, run) => server.createAndDelete(`made-${run}`),
    'the end of an object whose last finalizer it took away': (server, run) => server.endObject(run),
  };
  for (const [name, write] of Object.entries(ownEvents)) {
    it(`is not shortened by the event of ${name}`, async () => {
      const world = start(async (server, run) => {
        await write(server, run);
        throw new Error('no');
      }, 1);
      await world.clock.advanceAsync(5 * (2 ** 10 - 1));
      const waits = world.runs.slice(1).map((at, index) => at - (world.runs[index] ?? 0));
      assert.deepEqual(
        waits,
        Array.from({ length: 10 }, (_, failures) => 5 * 2 ** failures),
      );
      await world.end();
    });
  }

  it('of another key is not touched: what one reconcile writes wakes another at once', async () => {
    const at: string[] = [];
    const world = startController(async ({ name }) => {
      at.push(name);
      if (name === 'writer' && at.length > 5) {
        currentScope()?.wrote(widget('waits', { resourceVersion: '2' }), true);
        world.informer.update(widget('waits'), widget('waits', { resourceVersion: '2' }));
      }
      if (name === 'waits') throw new Error('not yet');
      return {};
    });
    world.informer.sync(widget('waits'), widget('writer'));
    await world.clock.advanceAsync(5 * (2 ** 6 - 1));
    const { length } = at;
    world.informer.update(widget('writer'), widget('writer', { resourceVersion: '2' }));
    await settle();
    assert.deepEqual(at.slice(length), ['writer', 'waits']);
    world.stop.abort();
    await world.running;
  });
});

interface Step {
  readonly what: 'foreign' | 'advance' | 'fail' | 'write' | 'patch' | 'requeue' | 'calm';
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('foreign', 'advance', 'fail', 'write', 'patch', 'requeue', 'calm'),
  ms: fc.integer({ min: 0, max: 400 }),
});

type Doing = Readonly<Record<'fail' | 'write' | 'patch' | 'requeue', boolean>>;

async function reconcileAs(doing: Doing, server: Server): ReturnType<Reconciler['reconcile']> {
  if (doing.write) await server.write();
  if (doing.patch) await server.writeNothing();
  if (doing.fail) throw new Error('no');
  return doing.requeue ? { requeueAfter: 0 } : {};
}

describe('Guards: random histories', () => {
  it('I2: each foreign edit is followed by a run as soon as it is shown', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom(0, 3, 200), async (steps, lag) => {
        const doing = { fail: false, write: false, patch: false, requeue: false };
        const world = start((server) => reconcileAs(doing, server), lag);
        const play: Readonly<Record<Step['what'], (ms: number) => unknown>> = {
          advance: (ms) => world.clock.advanceAsync(ms),
          calm: () => Object.assign(doing, { fail: false, write: false, patch: false, requeue: false }),
          fail: () => Object.assign(doing, { fail: true }),
          write: () => Object.assign(doing, { write: true }),
          patch: () => Object.assign(doing, { patch: true }),
          requeue: () => Object.assign(doing, { requeue: true }),
          foreign: async () => {
            await settle();
            const { length } = world.runs;
            world.server.foreign();
            await world.clock.advanceAsync(lag);
            assert.ok(world.runs.length > length, 'no run after a foreign edit');
          },
        };
        for (const { what, ms } of steps) await play[what](ms);
        await world.end();
      }),
      { numRuns: 100 },
    );
  });
});
