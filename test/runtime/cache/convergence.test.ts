/**
 * Whatever happens to its watches, an informer ends with what the API server has, has told its handlers
 * each step of the way once, and has never shown readers less than this process had written.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Informer } from '../../../src/runtime/cache/informer.ts';
import { Informers } from '../../../src/runtime/cache/informers.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import { fc } from '../../fixtures/property.ts';
import { CollectionServer } from './collection-server.ts';
import { type Widget, widgets } from './widget.ts';

/** The answer to an own write, on its way. */
interface Answer {
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  readonly object: Widget | undefined;
}

class World {
  readonly server = new CollectionServer();
  readonly clock = new FakeClock();
  readonly known = new Map<string, Widget>();
  readonly answers: Answer[] = [];
  /** What handlers threw: informers keep that to themselves. */
  readonly failures: unknown[] = [];
  readonly #controller = new AbortController();
  readonly #informers = new Informers({
    client: this.server,
    clock: this.clock,
    log: this.#log(),
    namespaces: [],
    random: () => 0.5,
  });
  readonly #informer: Informer<Widget>;
  /** Newest own write that was answered, by name. */
  readonly #observed = new Map<string, Answer>();
  /** What readers could see when its own delete was answered. */
  readonly #ended = new Set<string>();

  constructor(offersInitialEvents: boolean) {
    this.server.offersInitialEvents = offersInitialEvents;
    this.#informer = this.#informers.informerFor(widgets, { indexes: { uid: uidOf } });
    this.#informer.addHandler({
      onAdd: (object) => {
        assert.equal(this.known.has(object.metadata.name), false, 'an object was added twice');
        this.known.set(object.metadata.name, object);
      },
      onUpdate: (previous, object) => {
        assert.equal(this.known.get(object.metadata.name), previous, 'an update of something else');
        assert.equal(previous.metadata.uid, object.metadata.uid, 'an update to another object');
        this.known.set(object.metadata.name, object);
      },
      onDelete: ({ metadata }) => {
        assert.equal(this.known.get(metadata.name)?.metadata.uid, metadata.uid, 'a delete of something else');
        this.known.delete(metadata.name);
      },
    });
    this.#informers.start(this.#controller.signal);
  }

  write(name: string, what: 'put' | 'delete', answer: 'now' | 'later' | 'none') {
    const object = what === 'put' ? this.server.put(name) : this.server.remove(name);
    if (object === undefined || answer === 'none') return;
    const { uid = '' } = object.metadata;
    const revision = this.server.revision;
    this.answers.push({ name, uid, revision, object: what === 'put' ? object : undefined });
    if (answer === 'now') this.observe(this.answers.length - 1);
  }

  observe(position: number) {
    const [answer] = this.answers.splice(position % Math.max(1, this.answers.length), 1);
    if (answer === undefined) return;
    const { name, uid, object, revision } = answer;
    const visible = this.#informer.lister.get('default', name);
    if (object === undefined && visible?.metadata.uid === uid) this.#ended.add(uid);
    this.#informers.observeWrite(widgets, object ?? { namespace: 'default', name, uid, deleted: true });
    if ((this.#observed.get(name)?.revision ?? 0) < revision) this.#observed.set(name, answer);
  }

  /** What readers see is at least as new as own writes and as what handlers know, and never comes back. */
  assertReadsAreFresh() {
    assert.deepEqual(this.failures, []);
    for (const name of ['a', 'b', 'c']) {
      const visible = this.#informer.lister.get('default', name);
      const version = versionOf(visible);
      assert.equal(
        this.#ended.has(visible?.metadata.uid ?? ''),
        false,
        `${name} is back after its own delete`,
      );
      const told = this.known.get(name);
      if (told !== undefined && visible?.metadata.uid === told.metadata.uid) {
        assert.ok(version >= versionOf(told), `${name} is older than what handlers know`);
      }
      const own = this.#observed.get(name);
      // What an own delete hides is checked above; what readers had not seen by then may come and go.
      if (own?.object === undefined) continue;
      const gone = this.server.history.some(
        ({ type, revision }) => type === 'DELETED' && revision > own.revision,
      );
      assert.ok(
        visible === undefined ? gone : version >= own.revision,
        `${name} is older than the own write`,
      );
    }
  }

  assertConverged() {
    const state = (objects: Iterable<Widget>) => [...objects].map(identityOf).sort();
    const expected = state(this.server.objects.values());
    assert.deepEqual(state(this.#informer.lister.list()), expected, 'readers');
    assert.deepEqual(state(this.known.values()), expected, 'handlers');
    for (const object of this.server.objects.values()) {
      assert.equal(this.#informer.lister.byIndex('uid', uidOf(object)[0] ?? '').length, 1, 'index');
    }
    assert.equal(this.#informer.lister.size, expected.length);
  }

  #log(): Logger {
    const error = (fields: object | string) => void this.failures.push(fields);
    return { ...silentLogger, error, child: () => this.#log() };
  }

  async stop() {
    this.#controller.abort(new Error('stop'));
    await this.clock.advanceAsync(0);
    assert.equal(this.clock.pendingTimers, 0);
  }
}

function versionOf(object: Widget | undefined): number {
  return Number(object?.metadata.resourceVersion);
}

function uidOf({ metadata }: Widget): string[] {
  return [metadata.uid ?? ''];
}

function identityOf({ metadata }: Widget): string {
  return `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`;
}

const name = fc.constantFrom('a', 'b', 'c');
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      step: fc.constant('write' as const),
      name,
      what: fc.constantFrom('put' as const, 'put' as const, 'delete' as const),
      answer: fc.constantFrom('now' as const, 'later' as const, 'none' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('answer' as const), position: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ step: fc.constant('deliver' as const), events: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('bookmark' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('cut' as const),
      how: fc.constantFrom('end' as const, 'break' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('compact' as const) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('repeat' as const), repeats: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant('refuse' as const),
      codes: fc.array(fc.constantFrom(0, 403, 410, 429, 500, 503), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constant('wait' as const), ms: fc.constantFrom(0, 900, 5000, 70_000) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function take(world: World, next: Step): void {
  switch (next.step) {
    case 'write':
      world.write(next.name, next.what, next.answer);
      break;
    case 'answer':
      world.observe(next.position);
      break;
    case 'deliver':
      world.server.deliver(next.events);
      break;
    case 'expire':
      world.server.expire();
      break;
    case 'bookmark':
      world.server.sendBookmarks();
      break;
    case 'cut':
      world.server.cut(next.how);
      break;
    case 'compact':
      world.server.compact();
      break;
    case 'repeat':
      world.server.repeats = next.repeats;
      break;
    case 'refuse':
      world.server.refusals.push(...next.codes);
      break;
    case 'wait':
      break;
  }
}

describe('an informer', () => {
  for (const offersInitialEvents of [true, false]) {
    it(`converges, loading by ${offersInitialEvents ? 'initial events' : 'lists'}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
          const world = new World(offersInitialEvents);
          for (const next of steps) {
            take(world, next);
            await world.clock.advanceAsync(next.step === 'wait' ? next.ms : 0);
            world.assertReadsAreFresh();
          }
          world.server.refusals.length = 0;
          while (world.answers.length > 0) world.observe(0);
          await world.clock.advanceAsync(300_000);
          world.server.deliver(Number.POSITIVE_INFINITY);
          await world.clock.advanceAsync(0);
          world.assertConverged();
          await world.stop();
        }),
        { numRuns: 300 },
      );
    });
  }
});
