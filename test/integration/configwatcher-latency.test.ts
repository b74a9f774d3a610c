/** How soon a ConfigWatcher acts, by a clock that stands still while machines are busy: on a real API server. */
import { describe, it, type TestContext } from 'node:test';
import { Shop } from './configwatcher-shop.ts';
import type { Asked, HostileProxy } from './hostile-proxy.ts';
import { startTime, stopTime, type TimeTravel, timeTravel } from './time-travel.ts';

const timeout = 120_000;
/** Timers round the last fraction of a millisecond up. */
const slackMs = 100;

const isEviction = ({ path }: Asked) => path.endsWith('/eviction');

/** Sets time forward until a Pod is evicted, each time once all that was asked before is answered. */
async function untilEvicted(travel: TimeTravel, limitMs: number): Promise<void> {
  const isAsked = () => evictions(travel.proxy) > 0;
  try {
    await travel.advanceUntil(isAsked, {
      ...{ limitMs: limitMs + slackMs, message: 'a Pod is evicted', atRest: true },
    });
  } finally {
    startTime(travel);
  }
}

function evictions({ asked }: HostileProxy): number {
  return asked.filter(isEviction).length;
}

async function prepared(t: TestContext): Promise<{ readonly shop: Shop; readonly travel: TimeTravel }> {
  const shop = await Shop.open(t);
  const travel = await timeTravel(t);
  t.after(() => startTime(travel));
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(2);
  await shop.startOperator(travel.options);
  return { shop, travel };
}

describe('a ConfigWatcher', () => {
  it('asks for its first eviction within five seconds of a start, for an edit that was made before', {
    timeout,
  }, async (t) => {
    const { shop, travel } = await prepared(t);
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
    await shop.baselined();
    await shop.stopOperator();
    await shop.patchConfigMap({ data: { message: 'second' } });
    stopTime(travel);
    const started = shop.startOperator(travel.options);
    await untilEvicted(travel, 5000);
    await started;
  });

  it('asks for its first eviction within two seconds after the debounce of an edit', {
    timeout,
  }, async (t) => {
    const { shop, travel } = await prepared(t);
    await shop.watch({ debounce: { quiet: '3s' }, cooldown: { base: '0s' } });
    await shop.baselined();
    await shop.olderThanEdits();
    stopTime(travel);
    const { clock } = travel.options;
    const editedAt = clock.monotonic();
    await shop.patchConfigMap({ data: { message: 'second' } });
    // A slow machine may take longer for this than the debounce lasts: next to nothing of its time passes meanwhile.
    const isSeen = async () => (await shop.status()).pending !== undefined;
    await travel.advanceUntil(isSeen, { limitMs: 1000, stepMs: 10, message: 'the edit is seen' });
    await untilEvicted(travel, 3000 + 2000 - (clock.monotonic() - editedAt));
  });
});
