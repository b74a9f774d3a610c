/** When an At is launched while clocks are set, machines sleep and processes are stopped: never early, once, soon. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Workqueue } from '../../src/runtime/queue/workqueue.ts';
import { FakeClock } from '../fake/clock.ts';
import {
  accepted,
  actionTypes,
  decideInParts as decide,
  dueTime,
  longBeforeDue,
  observing,
} from '../fixtures/at.ts';

const hour = 3_600_000;
const second = 1000;

/** What the controller does with an accepted At and the time, and nothing else. */
class Clockwork {
  // Node's timers may be early by a millisecond.
  readonly clock = new FakeClock({ now: longBeforeDue, earlyBy: 1 });
  /** Wall clock, epoch milliseconds. */
  readonly launches: number[] = [];
  readonly #queue = new Workqueue({ clock: this.clock });

  constructor() {
    this.#queue.add('default/example-at');
  }

  /** Time passes, and whatever comes of it is done. */
  async pass(ms: number): Promise<void> {
    const steps = Math.ceil(ms / second);
    for (let step = 0; step <= steps; step += 1) {
      this.clock.advance(step === 0 ? 0 : ms / steps);
      await this.#work();
    }
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      const item = await this.#queue.get();
      assert.ok(item);
      const facts = { at: accepted(), now: this.clock.now() };
      const first = decide(observing(facts));
      const decision = first.need === undefined ? first : decide(observing({ ...facts, live: true }));
      if (actionTypes(decision).includes('CreatePod')) this.launches.push(this.clock.now());
      else if (decision.requeueAt !== undefined) this.#queue.addAt(item.key, decision.requeueAt);
      this.#queue.done(item.key);
    }
  }
}

async function started(): Promise<Clockwork> {
  const clockwork = new Clockwork();
  await clockwork.pass(second);
  assert.deepEqual(clockwork.launches, []);
  return clockwork;
}

function assertLaunchedOnce({ launches }: Clockwork, within: number): void {
  assert.equal(launches.length, 1);
  const late = (launches[0] ?? 0) - dueTime;
  assert.ok(late >= 0 && late <= within, `${late} ms late`);
}

describe('an At', () => {
  it('is launched on time when nothing happens to the clock', async () => {
    const clockwork = await started();
    await clockwork.pass(hour);
    assertLaunchedOnce(clockwork, second);
  });

  it('is launched within 30 s when the clock is set past its time', async () => {
    const clockwork = await started();
    clockwork.clock.stepWall(hour - second);
    await clockwork.pass(30 * second);
    assertLaunchedOnce(clockwork, 30 * second);
  });

  it('waits for its time on the clock that was set back, however often', async () => {
    const clockwork = await started();
    for (let times = 0; times < 3; times += 1) {
      await clockwork.pass(hour - 3 * second);
      assert.deepEqual(clockwork.launches, []);
      clockwork.clock.stepWall(-hour + 3 * second);
    }
    await clockwork.pass(hour);
    assertLaunchedOnce(clockwork, second);
  });

  it('is launched within 30 s after the machine has slept over its time', async () => {
    const clockwork = await started();
    clockwork.clock.suspend(9 * hour);
    await clockwork.pass(30 * second);
    assertLaunchedOnce(clockwork, 8 * hour + 31 * second);
  });

  it('is launched at once after the process was stopped over its time', async () => {
    const clockwork = await started();
    clockwork.clock.suspend(9 * hour, { monotonic: 'moves' });
    await clockwork.pass(0);
    assertLaunchedOnce(clockwork, 8 * hour + second);
  });
});
