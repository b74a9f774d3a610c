/**
 * Byte stream: the body of a response while it arrives, chunk by chunk, for one reader. A slow reader
 * slows the sender down instead of filling the memory.
 */

/** Bytes that may lie unread before the sender is asked to pause. */
const highWaterMark = 1024 * 1024;

export interface ByteSource {
  pause(): void;
  resume(): void;
  /** The reader has left, or everything has been read. Called once. */
  left(): void;
}

export class ByteStream implements AsyncIterable<Buffer> {
  readonly #source: ByteSource;
  #chunks: Buffer[] = [];
  #size = 0;
  #paused = false;
  #ended = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > highWaterMark && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The reader still gets what has arrived before: a connection that keeps breaking makes progress, too. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#error ??= error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (;;) {
        const chunks = this.#take();
        // `yield*` would wrap the array in an asynchronous iterator, at several times the cost.
        if (chunks.length > 0) for (const chunk of chunks) yield chunk;
        else if (this.#error !== undefined) throw this.#error;
        else if (this.#ended) return;
        else await this.#arrival();
      }
    } finally {
      this.#source.left();
    }
  }

  #take(): Buffer[] {
    const chunks = this.#chunks;
    if (chunks.length === 0) return chunks;
    this.#chunks = [];
    this.#size = 0;
    if (this.#paused) {
      this.#paused = false;
      this.#source.resume();
    }
    return chunks;
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
