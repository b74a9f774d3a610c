import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startGarbage } from '../../../src/runtime/manager/start-garbage.ts';
import { FakeClock } from '../../fake/clock.ts';

it('collects once, some seconds after the start', async () => {
  const clock = new FakeClock();
  let collections = 0;
  const ended = startGarbage(clock, async () => {
    collections++;
  }).start(new AbortController().signal, new AbortController().signal);
  await clock.advanceAsync(4000);
  assert.equal(collections, 0);
  await clock.advanceAsync(2000);
  await ended;
  assert.equal(collections, 1);
});

it('ends with a stop, and collects nothing then', async () => {
  const stop = new AbortController();
  const collect = async () => assert.fail('collected');
  const ended = startGarbage(new FakeClock(), collect).start(stop.signal, new AbortController().signal);
  stop.abort(new Error('the manager is stopping'));
  await ended;
});
