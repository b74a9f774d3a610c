/**
 * Process size: what this process holds after a full garbage collection, sampled again and again, and
 * whether it grows.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface ProcessSize {
  /** Bytes that JavaScript can reach: the heap, and buffers outside of it. */
  readonly heap: number;
  /** Bytes of physical memory. For people only: what was freed may stay with the process. */
  readonly rss: number;
  /** File descriptors, or on a system without /proc what keeps the event loop alive. */
  readonly descriptors: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export async function processSize(): Promise<ProcessSize> {
  // Twice, with a turn in between: finalizers free what the first one has found.
  for (let round = 0; round < 2; round++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss, descriptors: descriptors() };
}

/** As in `43.2/160/31`. */
export function describeSize({ heap, rss, descriptors }: ProcessSize): string {
  return `${(heap / 1e6).toFixed(2)}/${(rss / 1e6).toFixed(0)}/${descriptors}`;
}

function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return process.getActiveResourcesInfo().length;
  }
}

/**
 * Growth that is still flat. Compiled code goes on growing by some 300 KB in ten minutes; objects, as heap
 * snapshots show, do not at all. In a third of ten minutes there are 24 000 writes to 5 000 names, so what
 * keeps 31 bytes of each write or 150 of each name is found. Connections are cut 66 times in that time, and
 * one more or less may be open in any of a dozen places; a descriptor lost in every tenth cut is found.
 */
const heapSlack = 750_000;
const spareDescriptors = 6;

/**
 * Compares the middle third of the samples with the last one, by their medians; the first is for warming up.
 *
 * @throws {AssertionError} when the process has grown.
 */
export function assertFlat(samples: readonly ProcessSize[]): void {
  const third = Math.floor(samples.length / 3);
  assert.ok(third >= 3, `too few samples: ${samples.length}`);
  const middle = samples.slice(third, -third);
  const last = samples.slice(-third);
  const growth = (value: (size: ProcessSize) => number) =>
    median(last.map(value)) - median(middle.map(value));
  const heap = growth((size) => size.heap);
  assert.ok(heap <= heapSlack, `the heap grew by ${heap} bytes`);
  const descriptors = growth((size) => size.descriptors);
  assert.ok(descriptors <= spareDescriptors, `${descriptors} more descriptors were open`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
