import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { Failover } from '../../../src/at/act/failover.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { accepted } from '../../fixtures/at.ts';

const delayMs = 1000;
const maxLaunches = 16;

type OnAdd = (pod: object, initial: boolean) => void;

function launchable(name: string): At {
  const at = accepted();
  return { ...at, metadata: { ...at.metadata, name, uid: `uid-of-${name}` } };
}

/** A standby that sees so many launchable Ats, and whose launches end when the test says so. */
class Standby {
  readonly clock = new FakeClock();
  readonly begun: string[] = [];
  hasLed = false;
  isBlind = false;
  isIdle = false;
  /** How many Ats each list was sent for. */
  readonly lists: number[] = [];
  readsAhead = false;
  endList = () => {};
  readonly #ends: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #onAdd: OnAdd = () => {};

  constructor(count: number) {
    const found = Array.from({ length: count }, (_, index) => launchable(`at-${index}`));
    const informer = {
      addHandler: (handler: { onAdd: OnAdd }) => {
        this.#onAdd = handler.onAdd;
        return () => {};
      },
    };
    const launch = (at: At) => {
      this.begun.push(at.metadata.name);
      const { promise, resolve } = Promise.withResolvers<object>();
      this.#ends.push(() => resolve({}));
      return promise;
    };
    const isIdle = () => this.isIdle;
    const look = () => ({ ats: found, nextDue: Infinity });
    const failover = new Failover({
      ...{ clock: this.clock, log: silentLogger, random: () => 0, delayMs },
      ...{ pods: informer, isBlind: () => this.isBlind, hasLed: () => this.hasLed },
      launchable: {
        look,
        get isIdle() {
          return isIdle();
        },
        stop() {},
      } as never,
      launch: {
        ...{ launch, hasLaunched: () => false, forget() {}, stop() {} },
        isReading: () => this.readsAhead,
        readAhead: (ats: readonly At[]) => this.#readAhead(ats),
      } as never,
    });
    this.#ended = failover.start(this.#stop.signal, this.#stop.signal);
  }

  /** Only the first time. */
  #readAhead(ats: readonly At[]): Promise<void> | undefined {
    if (!this.readsAhead || this.lists.length > 0 || ats.length === 0) return undefined;
    this.lists.push(ats.length);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.endList = () => {
      this.readsAhead = false;
      resolve();
    };
    return promise;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      this.clock.advance(50);
      await settle();
    }
  }

  /** The first launch that goes on ends. */
  async endLaunch(): Promise<void> {
    this.#ends.shift()?.();
    await settle();
  }

  /** The Pod of another At appears. */
  podAppears(): void {
    const owner = { kind: 'At', name: 'other', uid: 'other', controller: true };
    this.#onAdd({ metadata: { name: 'other-pod', ownerReferences: [owner] } }, false);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    while (this.#ends.length > 0) await this.endLaunch();
    await this.#ended;
  }
}

describe('the failover of a standby', () => {
  it('begins after the delay, with 16 launches at a time', async () => {
    const standby = new Standby(20);
    await standby.pass(delayMs - 100);
    assert.equal(standby.begun.length, 0);
    await standby.pass(200);
    assert.equal(standby.begun.length, maxLaunches);
    await standby.endLaunch();
    assert.equal(standby.begun.length, maxLaunches + 1);
    await standby.end();
  });

  it('reads many Ats together a moment before the delay is over, and launches none before that', async () => {
    const standby = new Standby(20);
    standby.readsAhead = true;
    await standby.pass(delayMs - 400);
    assert.deepEqual(standby.lists, []);
    await standby.pass(200);
    assert.deepEqual(standby.lists, [20]);
    standby.endList();
    await standby.pass(100);
    assert.equal(standby.begun.length, 0);
    await standby.pass(200);
    assert.equal(standby.begun.length, maxLaunches);
    await standby.end();
  });

  it('waits for the list that reads many Ats together, and then begins at once', async () => {
    const standby = new Standby(20);
    standby.readsAhead = true;
    await standby.pass(delayMs + 300);
    assert.deepEqual([standby.lists, standby.begun.length], [[20], 0]);
    standby.endList();
    await settle();
    assert.equal(standby.begun.length, maxLaunches);
    await standby.end();
  });

  it('waits anew when the Pod of another At appears', async () => {
    const standby = new Standby(1);
    await standby.pass(delayMs - 100);
    standby.podAppears();
    await standby.pass(delayMs - 100);
    assert.equal(standby.begun.length, 0);
    await standby.pass(300);
    assert.equal(standby.begun.length, 1);
    await standby.end();
  });

  it('begins nothing while what it sees may be minutes old', async () => {
    const standby = new Standby(1);
    standby.isBlind = true;
    await standby.pass(2 * delayMs);
    assert.equal(standby.begun.length, 0);
    standby.isBlind = false;
    await standby.pass(200);
    assert.equal(standby.begun.length, 1);
    await standby.end();
  });

  it('looks each second, and every ten seconds while no At is near', async () => {
    const standby = new Standby(0);
    assert.equal(standby.clock.nextTimerIn, 1000);
    standby.isIdle = true;
    await standby.pass(1000);
    assert.equal(standby.clock.nextTimerIn, 10_000);
    standby.isIdle = false;
    await standby.pass(10_000);
    assert.equal(standby.clock.nextTimerIn, 1000);
    await standby.end();
  });

  it('begins nothing more from the moment on in which the process leads', async () => {
    const standby = new Standby(20);
    await standby.pass(delayMs + 100);
    standby.hasLed = true;
    await standby.endLaunch();
    assert.equal(standby.begun.length, maxLaunches);
    await standby.end();
  });
});
