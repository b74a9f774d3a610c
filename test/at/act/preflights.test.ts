import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { AtParts } from '../../../src/at/act/at-parts.ts';
import { Preflights } from '../../../src/at/act/preflights.ts';
import type { Preflight } from '../../../src/at/facts/observed.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import { FakeClock } from '../../fake/clock.ts';
import { decideInParts, dueTime, edited, observing, waiting, withStatus } from '../../fixtures/at.ts';

const minute = 60_000;
const hour = 60 * minute;
const rejection = { reason: 'PodRejected', message: 'exceeded quota' };

/** An At of that name that was accepted at its creation, two hours before it is due. */
function accepted(name: string, spec: Partial<At['spec']> = {}, preflight?: Preflight): At {
  const creationTimestamp = new Date(dueTime - 2 * hour).toISOString();
  const at = waiting(spec, { name, uid: `uid-${name}`, creationTimestamp });
  const first = withStatus(at, decideInParts(observing({ at, now: dueTime - 2 * hour })).status);
  const told = { at: first, now: dueTime - 2 * hour, ...(preflight && { preflight }) };
  return preflight === undefined ? first : withStatus(first, decideInParts(observing(told)).status);
}

class World {
  readonly clock: FakeClock;
  readonly ats = new Map<string, At>();
  readonly tried: string[] = [];
  readonly woken: string[] = [];
  /** Names of Pods, or `*`, that are refused. */
  refused = new Set<string>();
  answers = true;
  readonly preflights: Preflights;

  constructor(before: number, ...ats: readonly At[]) {
    this.clock = new FakeClock({ now: dueTime - before });
    for (const at of ats) this.ats.set(at.metadata.name, at);
    const create = async (_resource: object, { metadata: { name } }: Pod) => {
      this.tried.push(name);
      if (!this.answers) throw new Error('no answer');
      if (!this.refused.has(name) && !this.refused.has('*')) return;
      const { message } = rejection;
      throw new ApiError(message, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message });
    };
    this.preflights = new Preflights({
      client: { create } as unknown as AtParts['client'],
      clock: this.clock,
      ats: {
        list: () => [...this.ats.values()],
        get: (_namespace: string, name: string) => this.ats.get(name),
      } as unknown as AtParts['ats'],
      tracks: true,
      random: () => 0.5,
      wake: (key) => this.woken.push(key),
    });
  }

  /** Runs it for so long. */
  async run(ms: number): Promise<void> {
    const stop = new AbortController();
    const running = this.preflights.start(stop.signal, stop.signal);
    await this.clock.advanceAsync(ms);
    stop.abort();
    await running;
  }
}

/** An At that was created so many ms before it is due. */
function createdBefore(ms: number): At {
  const young = accepted('young');
  return {
    ...young,
    metadata: { ...young.metadata, creationTimestamp: new Date(dueTime - ms).toISOString() },
  };
}

describe('a dry run that passed', () => {
  it('is repeated five minutes before the At is due, when it is older than an hour', async () => {
    const world = new World(7 * minute, accepted('a'));
    await world.run(7 * minute);
    assert.deepEqual(world.tried, ['a-pod']);
  });

  it('is not repeated before, nor when it is younger, nor when the At is due at any moment', async () => {
    const early = new World(2 * hour, accepted('a'));
    await early.run(hour);
    const late = new World(29_000, accepted('a'));
    await late.run(minute);
    const fresh = new World(4 * minute, createdBefore(4.5 * minute));
    await fresh.run(20_000);
    const known = new World(4 * minute, accepted('a'));
    known.preflights.tried(accepted('a'), {});
    await known.run(4 * minute);
    for (const { tried } of [early, late, fresh, known]) assert.deepEqual(tried, []);
  });

  it('is made, too, where another process may have ended before the first one', async () => {
    const world = new World(4 * minute, createdBefore(50 * minute));
    await world.run(4 * minute);
    assert.deepEqual(world.tried, ['young-pod']);
  });

  it('is one for all Ats of the namespace with the same template', async () => {
    const many = Array.from({ length: 500 }, (_, index) => accepted(`at-${index}`));
    const other = accepted('other', { image: 'alpine' });
    const world = new World(4 * minute, ...many, other);
    await world.run(3 * minute);
    assert.deepEqual(world.tried, ['at-0-pod', 'other-pod']);
    assert.deepEqual(world.woken, []);
  });

  it('is none for an At whose Pod differs in what admission looks at, whatever the template', async () => {
    const others: Record<string, Partial<At['spec']>> = {
      once: { launchGuarantee: 'ExactlyOnce' },
      never: { backoffLimit: 0 },
      limited: { activeDeadlineSeconds: 60 },
      longer: { activeDeadlineSeconds: 600 },
      open: { activeDeadlineSeconds: 60, pendingTimeoutSeconds: 0 },
    };
    const all = Object.entries(others).map(([name, spec]) => accepted(name, spec));
    const same = accepted('same', { backoffLimit: 3, command: 'true', pendingTimeoutSeconds: 5 });
    const world = new World(4 * minute, accepted('plain'), same, ...all);
    await world.run(3 * minute);
    assert.deepEqual(
      world.tried,
      ['plain', ...Object.keys(others)].map((name) => `${name}-pod`),
    );
  });

  it('that is refused now wakes its At, which is told what it came to, until it is edited', async () => {
    const at = accepted('a');
    const world = new World(4 * minute, at);
    world.refused.add('*');
    await world.run(minute);
    assert.deepEqual(world.woken, ['default/a']);
    assert.deepEqual(world.preflights.recall(at), { preflight: { rejection } });
    assert.deepEqual(world.preflights.recall(edited(at, { image: 'alpine' })), {});
  });

  it('is forgotten once status tells of a later one, of another process', async () => {
    const at = accepted('a');
    const world = new World(4 * minute, at);
    world.refused.add('*');
    await world.run(minute);
    const toldAfter = (ms: number) => {
      const lastTransitionTime = new Date(world.clock.now() + ms).toISOString();
      const condition = { type: 'PodAdmitted', status: 'True', reason: 'Armed', message: '' } as const;
      return withStatus(at, { ...at.status, conditions: [{ ...condition, lastTransitionTime }] });
    };
    assert.deepEqual(world.preflights.recall(toldAfter(-10 * minute)), { preflight: { rejection } });
    assert.deepEqual(world.preflights.recall(toldAfter(0)), {});
  });

  it('is tried for ten at most in one look when all are refused', async () => {
    const many = Array.from({ length: 50 }, (_, index) => accepted(`at-${index}`));
    const world = new World(4 * minute, ...many);
    world.refused.add('*');
    await world.run(29_000);
    assert.equal(world.tried.length, 10);
  });

  it('without an answer is tried again', async () => {
    const world = new World(4 * minute, accepted('a'));
    world.answers = false;
    await world.run(minute - 1);
    assert.deepEqual(world.tried, ['a-pod', 'a-pod']);
    assert.deepEqual(world.woken, []);
  });

  it('without an answer is tried again after those of the others', async () => {
    const many = Array.from({ length: 20 }, (_, index) => accepted(`at-${index}`));
    const world = new World(4 * minute, ...many);
    world.answers = false;
    await world.run(minute - 1);
    assert.deepEqual(
      world.tried,
      many.map(({ metadata }) => `${metadata.name}-pod`),
    );
  });
});

describe('a dry run that was refused', () => {
  const refused = accepted('a', {}, { rejection });

  it('is repeated each hour', async () => {
    const world = new World(100 * hour, refused);
    world.refused.add('*');
    world.preflights.tried(refused, { rejection });
    await world.run(hour - 1);
    assert.equal(world.tried.length, 0);
    await world.run(3 * hour);
    assert.equal(world.tried.length, 3);
    // Status says so already.
    assert.deepEqual(world.woken, []);
  });

  it('by another process is repeated within the hour', async () => {
    const world = new World(100 * hour, refused);
    await world.run(29 * minute);
    assert.equal(world.tried.length, 0);
    await world.run(2 * minute);
    assert.equal(world.tried.length, 1);
  });

  it('comes to each of more than can have one within an hour', async () => {
    const many = Array.from({ length: 1500 }, (_, index) => accepted(`at-${index}`, {}, { rejection }));
    const world = new World(100 * hour, ...many);
    world.refused.add('*');
    for (const at of many) world.preflights.tried(at, { rejection });
    await world.run(2.5 * hour);
    assert.equal(new Set(world.tried).size, many.length);
  });

  it('wakes all Ats with that template when it passes', async () => {
    const many = ['a', 'b', 'c'].map((name) => accepted(name, {}, { rejection }));
    const world = new World(1.9 * hour, ...many);
    for (const at of many) world.preflights.tried(at, { rejection });
    await world.run(hour + minute);
    assert.deepEqual(world.tried, ['a-pod']);
    assert.deepEqual(world.woken, ['default/a', 'default/b', 'default/c']);
    assert.deepEqual(world.preflights.recall(many[2] as At), { preflight: {} });
  });
});

it('of an At that waits for long nothing is remembered, nor of one that is over', () => {
  const world = new World(100 * hour);
  const at = accepted('a');
  world.preflights.tried(at, {});
  assert.equal(world.preflights.size, 0);
  world.preflights.tried(at, { rejection });
  assert.equal(world.preflights.size, 1);
  world.preflights.forget('default/a');
  assert.equal(world.preflights.size, 0);
});
