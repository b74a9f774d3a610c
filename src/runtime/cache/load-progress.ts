/** LoadProgress: how far the loads of one collection have come, across tries that begin again. */
export class LoadProgress {
  #taken = 0;
  #most = 0;

  /** Objects that the load has brought that came furthest. */
  get most(): number {
    return this.#most;
  }

  /** A load begins, with the first object. */
  begin(): void {
    this.#taken = 0;
  }

  /** The load, or after it the watch, brought an object. */
  took(): void {
    this.#taken++;
    this.#most = Math.max(this.#most, this.#taken);
  }
}
