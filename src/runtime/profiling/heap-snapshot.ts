/** Heap snapshot: every object of this process, as a .heapsnapshot file has it. */
import { type Readable, Transform } from 'node:stream';
import type { Clock } from '../clock.ts';

/** Bytes of heap. While V8 writes its objects down the event loop stands still, 1 s or more for each 100 MB. */
export const mostHeap = 256 << 20;

/** Bytes of a snapshot, and ms in which it must have been read. */
const limits = { size: 1 << 30, time: 60_000 };

/** Undefined: the heap is too large. A snapshot that becomes too large itself, or is read too slowly, breaks off. */
export async function heapSnapshot(clock: Clock): Promise<Readable | undefined> {
  // Loaded when it is asked for: few processes ever are.
  const { getHeapSnapshot, getHeapStatistics } = await import('node:v8');
  if (getHeapStatistics().used_heap_size > mostHeap) return undefined;
  const snapshot = getHeapSnapshot();
  let size = 0;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limits.size ? new Error('the heap snapshot is too large') : null, chunk);
    },
  });
  const timer = clock.setTimer(limits.time, () =>
    limited.destroy(new Error('the heap snapshot is read too slowly')),
  );
  limited.once('close', () => {
    timer.cancel();
    snapshot.destroy();
  });
  return snapshot.pipe(limited);
}
