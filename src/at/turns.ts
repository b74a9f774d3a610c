/**
 * Turns: which due Ats may be launched before all others. The first of each namespace in each second are;
 * the rest of a namespace's thousands give way once, and are launched when no other namespace has one of its
 * first. So an At is not late because a stranger has ten thousand that are due with it.
 */
import type { At } from '../api/at.generated.ts';
import type { Memory } from './memory.ts';

/** Launches of one namespace a second that go before everybody's bulk. */
const firstOnes = 32;
const window = 1000;

export class Turns {
  readonly #memory: Memory;
  readonly #taken = new Map<string, number>();
  #windowEnd = Number.NEGATIVE_INFINITY;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /**
   * Whether this due At has to give way, which happens once in its life at most.
   *
   * @param now monotonic milliseconds
   */
  mustGiveWay(at: At, now: number): boolean {
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + window;
      this.#taken.clear();
    }
    if (this.#memory.gaveWay(at)) {
      return false;
    }
    const namespace = at.metadata.namespace ?? '';
    const taken = this.#taken.get(namespace) ?? 0;
    this.#taken.set(namespace, taken + 1);
    if (taken < firstOnes) {
      return false;
    }
    this.#memory.giveWay(at);
    return true;
  }
}
