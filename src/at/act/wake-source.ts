/** Wake source: brings an At back into the queue when its turn to try a create has come. */
import { requestOfKey } from '../../runtime/controller/reconciler.ts';
import type { Enqueue, Source } from '../../runtime/controller/source.ts';

export class WakeSource implements Source {
  readonly #onStop: () => void;
  #enqueue: Enqueue | undefined;

  constructor(onStop: () => void) {
    this.#onStop = onStop;
  }

  start(enqueue: Enqueue, _log: unknown, stop: AbortSignal): void {
    this.#enqueue = enqueue;
    stop.addEventListener('abort', this.#onStop, { once: true });
  }

  async waitForSync(): Promise<void> {}

  /** @param key `namespace/name` */
  wake(key: string): void {
    this.#enqueue?.(requestOfKey(key), {});
  }
}
