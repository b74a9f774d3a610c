/** What the workqueue's tests share. */
import { type WorkItem, Workqueue, type WorkqueueOptions } from '../../../src/runtime/queue/workqueue.ts';
import { FakeClock, settle } from '../../fake/clock.ts';

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

export function setUp(options: Partial<WorkqueueOptions> = {}) {
  const clock = new FakeClock();
  return { clock, queue: new Workqueue({ clock, ...options }) };
}

/** Takes whatever is ready now, in order; leaves everything taken unfinished. */
export async function takeReady(queue: Workqueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.length > 0) {
    const item = await promptly(queue.get());
    if (!item) break;
    keys.push(item.key);
  }
  return keys;
}

/** As {@link takeReady}, finishing each key before the next. */
export async function processReady(queue: Workqueue): Promise<string[]> {
  const keys = await takeReady(queue);
  for (const key of keys) queue.done(key);
  return keys;
}

/** What a `get` gives without any time passing; undefined when it still waits. */
export function promptly(get: Promise<WorkItem | undefined>): Promise<WorkItem | undefined> {
  return Promise.race([get, settle().then(() => undefined)]);
}
