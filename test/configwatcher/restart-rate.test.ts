/** How often a ConfigMap that is edited on and on restarts its Pods, with the defaults of a watcher. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Operator, settled } from './operator.ts';

const seconds = 1000;
const halfAnHour = 1800 * seconds;
const maxStep = 2 * seconds;

/** An edit `every` so often. When each restart began, from the first edit on, ms, and what else was done. */
async function editOnAndOn(
  every: number,
): Promise<{ starts: number[]; edits: number; writes: number; operator: Operator }> {
  const { world, operator } = await settled({ cooldown: {} }, { replicas: 1 });
  const begin = world.now;
  const starts = new Map<string, number>();
  let next = begin;
  let edits = 0;
  world.requests.length = 0;
  while (world.now < begin + halfAnHour) {
    if (world.now >= next) {
      world.edit({ message: `edit ${edits++}` });
      next += every;
    }
    operator.sync();
    const { requeueAfter = maxStep } = await operator.reconcile();
    const { id } = world.watcher.status?.lastRestart ?? {};
    if (id !== undefined && !starts.has(id)) starts.set(id, world.now - begin);
    world.step(Math.max(50, Math.min(requeueAfter, next - world.now, maxStep)));
  }
  const writes = world.requests.filter((request) => /configwatchers/.test(request)).length;
  return { starts: [...starts.values()], edits, writes, operator };
}

describe('a ConfigMap that is edited for half an hour', () => {
  for (const every of [1, 2, 3, 5, 20]) {
    it(`every ${every} s restarts its Pods ever more rarely, and a loop is suspected`, async () => {
      const { starts, edits, writes, operator } = await editOnAndOn(every * seconds);
      const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
      assert.ok(starts.length >= 5 && starts.length <= 8, `restarts at ${starts.join(', ')} ms`);
      for (const [index, gap] of gaps.entries()) {
        assert.ok(gap >= Math.min(30 * 2 ** index, 600) * seconds, `gaps of ${gaps.join(', ')} ms`);
      }
      const told = operator.events.filter(({ reason }) => reason === 'CooldownActive');
      assert.ok(told.some(({ note }) => note.includes('rewrites its own configuration')));
      assert.ok(told.length <= starts.length, `${told.length} Events of ${starts.length} cooldowns`);
      // Besides one for each edit, those of a restart: that it waits no longer for the cooldown, begins, goes on and ends.
      const most = edits + 6 * starts.length;
      assert.ok(writes <= most, `${writes} writes for ${edits} edits`);
      assert.ok(writes >= edits / 2, 'counts the writes');
    });
  }
});
