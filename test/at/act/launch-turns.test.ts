import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Candidate, LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { Random } from '../../../src/testing/random.ts';
import { FakeClock } from '../../fake/clock.ts';

const quota = { reason: 'PodRejected', message: 'exceeded quota: q' };
const cause = 'q pods';
const version = { uid: 'u', generation: 1 };

/** Ats of one namespace, whose creates are refused until there is room. */
class Crowd {
  readonly clock = new FakeClock();
  readonly turns: LaunchTurns;
  /** Keys of the Ats that tried, in that order. */
  readonly tries: string[] = [];
  /** When each try was, milliseconds. */
  readonly times: number[] = [];
  readonly launched = new Set<string>();
  /** How many Pods may be created still. */
  room = 0;
  #woken: string[] = [];

  constructor(count: number) {
    this.turns = new LaunchTurns(this.clock, (key) => this.#woken.push(key));
    for (let index = 0; index < count; index += 1) this.reconcile(`shop/at-${index}`);
  }

  reconcile(key: string, generation = 1): void {
    const candidate = { key, namespace: key.split('/')[0] ?? '', version: { uid: 'u', generation } };
    if (this.launched.has(key) || this.turns.ask(candidate) !== undefined) return;
    this.tries.push(key);
    this.times.push(this.clock.monotonic());
    if (this.room > 0 && !key.endsWith('never-fits')) {
      this.room -= 1;
      this.launched.add(key);
      this.turns.admitted(key);
    } else {
      this.turns.failed(candidate, cause, quota);
    }
  }

  /** Lets time go by, and each At have its turn that is woken. */
  pass(seconds: number, stepMs = 50): void {
    for (let passed = 0; passed < seconds * 1000; passed += stepMs) {
      this.clock.advance(stepMs);
      const woken = this.#woken;
      this.#woken = [];
      for (const key of woken) this.reconcile(key);
    }
  }

  /** Tries from now on. */
  forgetTries(): void {
    this.tries.length = 0;
    this.times.length = 0;
  }
}

/** The longest time between two tries of an At within an hour, milliseconds, where each try fails for one of three causes. */
function longestBetweenTries(count: number, random: Random): number {
  const clock = new FakeClock();
  const woken = Array.from({ length: count }, (_, index) => `shop/at-${index}`);
  const turns = new LaunchTurns(clock, (key) => woken.push(key));
  const triedAt = new Map(woken.map((key) => [key, clock.monotonic()]));
  let longestMs = 0;
  for (const endsAt = clock.monotonic() + 3_600_000; clock.monotonic() < endsAt; clock.advance(50)) {
    const now = clock.monotonic();
    for (const key of woken.splice(0)) {
      const candidate = { key, namespace: 'shop', version };
      if (turns.ask(candidate) !== undefined) continue;
      triedAt.set(key, now);
      turns.failed(candidate, `quota ${random.integer(3)}`, quota);
    }
    for (const time of triedAt.values()) longestMs = Math.max(longestMs, now - time);
  }
  return longestMs;
}

describe('creates that are refused for one cause', () => {
  it('begin with a try of each of the first, and go on with one for all, each time of another At', () => {
    const crowd = new Crowd(200);
    assert.equal(crowd.tries.length, 8);
    crowd.pass(60);
    crowd.forgetTries();
    crowd.pass(60);
    assert.ok(crowd.tries.length >= 40 && crowd.tries.length <= 43, `${crowd.tries.length} tries`);
    assert.equal(new Set(crowd.tries).size, crowd.tries.length);
    crowd.pass(300);
    assert.equal(new Set(crowd.tries).size, 200, 'each has a try within five minutes');
  });

  it('are no more than two a second for ten thousand', () => {
    const crowd = new Crowd(10_000);
    crowd.pass(30);
    crowd.forgetTries();
    crowd.pass(60);
    assert.equal(crowd.tries.length, 120);
  });

  it('follow each other ever faster once there is room, until there is none', () => {
    const crowd = new Crowd(200);
    crowd.pass(60);
    crowd.room = 150;
    crowd.forgetTries();
    crowd.pass(4);
    assert.equal(crowd.launched.size, 150);
    assert.ok(crowd.tries.length < 300, `${crowd.tries.length} tries for 150 Pods`);
    const rate = (from: number) => crowd.times.filter((time) => time >= from && time < from + 50).length;
    const first = crowd.times[0] ?? 0;
    assert.deepEqual([rate(first), rate(first + 50), rate(first + 100)], [1, 1, 2]);
    crowd.forgetTries();
    crowd.pass(60);
    assert.ok(crowd.tries.length <= 12, 'the rest waits again');
  });

  it('of one that never fits hold up none of the others', () => {
    const crowd = new Crowd(0);
    for (let index = 0; index < 10; index += 1) crowd.reconcile(`shop/at-${index}-never-fits`);
    crowd.reconcile('shop/at-that-fits');
    crowd.room = 1;
    crowd.pass(120);
    assert.ok(crowd.launched.has('shop/at-that-fits'));
  });

  it('let a new At try at the next turn, however many wait that never fit', () => {
    const crowd = new Crowd(0);
    for (let index = 0; index < 20; index += 1) crowd.reconcile(`shop/at-${index}-never-fits`);
    crowd.pass(600);
    crowd.room = 1;
    crowd.reconcile('shop/new');
    crowd.pass(10);
    assert.ok(crowd.launched.has('shop/new'));
  });

  it('hold up nobody for good while new Ats come all the time', () => {
    const crowd = new Crowd(20);
    crowd.pass(120);
    crowd.forgetTries();
    for (let index = 0; index < 2400; index += 1) {
      crowd.reconcile(`shop/new-${index}-never-fits`);
      crowd.pass(0.5);
    }
    const triedAgain = new Set(crowd.tries.filter((key) => key.includes('/at-')));
    assert.equal(triedAgain.size, 20);
    const everTried = new Set(crowd.tries);
    crowd.forgetTries();
    crowd.pass(60);
    const firstTries = crowd.tries.filter((key) => !everTried.has(key));
    assert.ok(firstTries.length >= 60, `${firstTries.length} of ${crowd.tries.length} tries are first ones`);
  });

  it('let each try every five minutes, also where their causes change with each try', () => {
    for (const count of [20, 60, 150, 500]) {
      const longestMs = longestBetweenTries(count, new Random(`${count} Ats`));
      assert.ok(longestMs <= 300_000, `one of ${count} waited for ${longestMs / 1000} s`);
    }
  });

  it('concern no other namespace, and no few Ats that have not been tried', () => {
    const crowd = new Crowd(7);
    crowd.reconcile('shop/new');
    assert.equal(crowd.tries.at(-1), 'shop/new');
    crowd.reconcile('shop/newer');
    assert.equal(crowd.tries.at(-1), 'shop/new', 'it is taken to fail, too');
    crowd.reconcile('farm/new');
    assert.equal(crowd.tries.at(-1), 'farm/new');
  });

  it('of an At that is edited are tried at once', () => {
    const crowd = new Crowd(20);
    crowd.forgetTries();
    crowd.reconcile('shop/at-3', 1);
    assert.deepEqual(crowd.tries, []);
    crowd.reconcile('shop/at-3', 2);
    assert.deepEqual(crowd.tries, ['shop/at-3']);
  });

  it('pass on the turn of an At that does not use it', () => {
    const crowd = new Crowd(9);
    crowd.launched.add('shop/at-0').add('shop/at-1');
    crowd.room = 100;
    crowd.pass(60);
    assert.equal(crowd.launched.size, 9);
  });

  it('give the turn of an At that has no use for it to the next one at once', () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    const turns = new LaunchTurns(clock, (key) => woken.push(key));
    for (let index = 0; index < 9; index += 1) {
      turns.failed({ key: `shop/at-${index}`, namespace: 'shop', version }, cause, quota);
    }
    clock.advance(250);
    assert.deepEqual(woken, ['shop/at-0']);
    turns.passOn('shop/at-8');
    assert.deepEqual([woken, turns.size], [['shop/at-0'], 8], 'it had no turn yet');
    turns.passOn('shop/at-0');
    assert.deepEqual([woken, turns.size], [['shop/at-0', 'shop/at-1'], 7]);
  });

  it('let the next one wait for its turn as long as one is on its way, however long that takes', () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    const turns = new LaunchTurns(clock, (key) => woken.push(key));
    const [first, second] = ['first', 'second'].map((name) => {
      return { key: `shop/${name}`, namespace: 'shop', version };
    }) as [Candidate, Candidate];
    const fail = (candidate: Candidate) =>
      turns.failed(candidate, 'no answer', quota, { isAnswered: false }).waitMs;
    clock.advance(fail(first));
    assert.equal(turns.ask(first), undefined);
    fail(second);
    for (let seconds = 0; seconds < 4; seconds += 1) {
      assert.equal(turns.ask(second)?.waitMs, 60_000);
      clock.advance(1000);
    }
    fail(first);
    clock.advance(1000);
    assert.deepEqual(woken.slice(-1), ['shop/second']);
  });

  it('are forgotten with their Ats', () => {
    const crowd = new Crowd(9);
    for (let index = 0; index < 9; index += 1) crowd.turns.forget(`shop/at-${index}`);
    assert.equal(crowd.turns.size, 0);
    crowd.reconcile('shop/new');
    assert.equal(crowd.tries.at(-1), 'shop/new');
  });
});

describe('one At that is refused', () => {
  it('is tried again after 250 ms, doubling to ten seconds, also if nothing wakes it', () => {
    const clock = new FakeClock();
    const turns = new LaunchTurns(clock);
    const candidate = { key: 'shop/at', namespace: 'shop', version };
    const waits: number[] = [];
    for (let tries = 0; tries < 8; tries += 1) {
      assert.equal(turns.ask(candidate), undefined);
      const { waitMs } = turns.failed(candidate, cause, quota);
      assert.equal(turns.ask(candidate)?.waitMs, waitMs);
      waits.push(waitMs);
      clock.advance(waitMs);
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  it('waits as long where a cache that is behind shows it before an edit, and not where it was edited', () => {
    const clock = new FakeClock();
    const turns = new LaunchTurns(clock);
    const at = (generation: number, uid = 'u') => ({
      key: 'shop/at',
      namespace: 'shop',
      version: { uid, generation },
    });
    const waits: number[] = [];
    for (let tries = 0; tries < 4; tries += 1) {
      clock.advance(waits.at(-1) ?? 0);
      assert.equal(turns.ask(at(1)), undefined);
      assert.equal(turns.ask(at(3)), undefined, 'as a read shows it');
      waits.push(turns.failed(at(3), cause, quota).waitMs);
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000]);
    assert.notEqual(turns.ask(at(1)), undefined);
    assert.equal(turns.ask(at(4)), undefined);
    assert.equal(turns.failed(at(4), cause, quota).waitMs, 250);
    assert.equal(turns.ask(at(1, 'other')), undefined);
  });

  it('waits longer each time also where two causes take turns', () => {
    const clock = new FakeClock();
    const turns = new LaunchTurns(clock);
    const candidate = { key: 'shop/at', namespace: 'shop', version };
    const waits: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      clock.advance(waits.at(-1) ?? 0);
      assert.equal(turns.ask(candidate), undefined);
      const isAnswered = tries % 2 === 0;
      waits.push(turns.failed(candidate, isAnswered ? cause : 'no answer', quota, { isAnswered }).waitMs);
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 2000], 'up to the limit of each');
  });

  it('waits two seconds at most where nothing answers', () => {
    const clock = new FakeClock();
    const turns = new LaunchTurns(clock);
    const candidate = { key: 'shop/at', namespace: 'shop', version };
    let waitMs = 0;
    for (let tries = 0; tries < 8; tries += 1) {
      turns.ask(candidate);
      waitMs = turns.failed(candidate, 'no answer', quota, { isAnswered: false }).waitMs;
      clock.advance(waitMs);
    }
    assert.equal(waitMs, 2000);
  });
});
