/**
 * JSON lines: cuts a stream of bytes into lines at 0x0A, and at nothing else: U+2028 and a carriage return
 * are ordinary parts of a JSON text. A character whose bytes arrive in two chunks stays whole.
 */
const newline = 0x0a;

export class LineSplitter {
  /** The beginning of a line whose end has not come yet. */
  #rest: Buffer[] = [];

  /** The lines that this chunk completes, without their newline; empty ones are left out. */
  *push(chunk: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = this.#line(chunk, start, end);
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) this.#rest.push(chunk.subarray(start));
  }

  /** Whether the stream may not end here: it would end within a line. */
  get withinLine(): boolean {
    return this.#rest.length > 0;
  }

  #line(chunk: Buffer, start: number, end: number): string {
    if (this.#rest.length === 0) return chunk.toString('utf8', start, end);
    const whole = Buffer.concat([...this.#rest, chunk.subarray(start, end)]);
    this.#rest = [];
    return whole.toString('utf8');
  }
}
