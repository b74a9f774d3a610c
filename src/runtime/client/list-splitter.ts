/**
 * List splitter: cuts the JSON text of a list, while its bytes arrive, into its items and the envelope around them,
 * so that a page is never one string or one tree. It finds where things end; whether they are JSON is judged by the
 * parser that each of them goes through. A character whose bytes arrive in two chunks stays whole.
 */
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Bytes of a string that are looked at one by one, before its end is searched for: most strings are short. */
const shortString = 24;
/** Bytes before an array in which its key is looked for. */
const keySpace = 64;

/** What a byte outside of strings means, as bits; 0 for most. */
const kinds = new Uint8Array(256);
const openKind = 1;
const arrayKind = 2;
const closeKind = 4;
const quoteKind = 8;
const commaKind = 16;
kinds['{'.charCodeAt(0)] = openKind;
kinds['['.charCodeAt(0)] = openKind | arrayKind;
for (const character of '}]') kinds[character.charCodeAt(0)] = closeKind;
kinds[quote] = quoteKind;
kinds[comma] = commaKind;

/** In valid JSON a quote after one of these begins a text, and does not end one. */
const itemsKey = /[{,\s]"items"\s*:\s*$/;
const blank = /^[ \t\r\n]*$/;

export class ListSplitter {
  /** The bytes outside of the items. */
  readonly #envelope: Buffer[] = [];
  /** The beginning of an item whose end has not come yet. */
  #rest: Buffer[] = [];
  /** How many objects and arrays are open. The items are in the second. */
  #depth = 0;
  #inString = false;
  /** Within a string: the next byte is escaped. */
  #escaped = false;
  #inItems = false;
  #count = 0;

  /** The texts of the items that this chunk completes. The chunk must not change as long as the splitter is used. */
  *push(chunk: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (let end = this.#next(chunk, 0); end < chunk.length; end = this.#next(chunk, end + 1)) {
      if (!this.#inItems) {
        if (this.#isItems(chunk, start, end)) {
          this.#envelope.push(Buffer.from(chunk.subarray(start, end + 1)));
          this.#inItems = true;
          start = end + 1;
        }
        this.#depth++;
        continue;
      }
      const text = this.#item(chunk, start, end);
      const isLast = chunk[end] !== comma;
      if (!(isLast && this.#count === 0 && blank.test(text))) {
        this.#count++;
        yield text;
      }
      start = isLast ? end : end + 1;
      if (isLast) {
        this.#inItems = false;
        this.#depth--;
      }
    }
    if (this.#inItems) this.#rest.push(chunk.subarray(start));
    else this.#envelope.push(Buffer.from(chunk.subarray(start)));
  }

  /** The text of the list without its items; no JSON when the list was not complete. */
  get envelope(): string {
    return Buffer.concat(this.#envelope).toString('utf8');
  }

  #item(chunk: Buffer, start: number, end: number): string {
    if (this.#rest.length === 0) return chunk.toString('utf8', start, end);
    const whole = Buffer.concat([...this.#rest, chunk.subarray(start, end)]);
    this.#rest = [];
    return whole.toString('utf8');
  }

  /** Whether the array that opens at `end` is that of the items. A key that is escaped is not seen as theirs. */
  #isItems(chunk: Buffer, start: number, end: number): boolean {
    const before = Buffer.concat([...this.#envelope, chunk.subarray(start, end)]);
    return itemsKey.test(before.toString('latin1', Math.max(0, before.length - keySpace)));
  }

  /** Where the next array in the list opens or, among the items, where one of them ends; else the chunk's length. */
  #next(chunk: Buffer, from: number): number {
    const stopDepth = this.#inItems ? 2 : 1;
    const stopKinds = this.#inItems ? closeKind | commaKind : arrayKind;
    let depth = this.#depth;
    let i = this.#inString ? this.#endOfString(chunk, from) : from;
    for (; i < chunk.length; i++) {
      const kind = kinds[chunk[i] as number] as number;
      if (kind === 0) continue;
      if (depth === stopDepth && (kind & stopKinds) !== 0) break;
      if (kind === quoteKind) i = this.#endOfString(chunk, i + 1) - 1;
      else if (kind === closeKind) depth--;
      else depth += kind & openKind;
    }
    this.#depth = depth;
    return i;
  }

  /** The place after the quote that ends the string, or the chunk's length. */
  #endOfString(chunk: Buffer, from: number): number {
    this.#inString = true;
    let i = from;
    while (this.#inString && i < chunk.length) {
      i = this.#scanString(chunk, i, Math.min(chunk.length, i + shortString));
      if (this.#inString && i < chunk.length) i = this.#searchQuote(chunk, i);
    }
    return i;
  }

  /** Looks at bytes of a string one by one, until it ends. Returns the place after the last one. */
  #scanString(chunk: Buffer, from: number, to: number): number {
    let i = this.#escaped ? from + 1 : from;
    for (; i < to; i++) {
      const byte = chunk[i];
      if (byte === backslash) {
        i++;
      } else if (byte === quote) {
        this.#escaped = this.#inString = false;
        return i + 1;
      }
    }
    // The last byte may escape the one after it.
    this.#escaped = i > to;
    return to;
  }

  /** The place of the next quote in a string, which may be escaped, or the chunk's length. */
  #searchQuote(chunk: Buffer, from: number): number {
    const found = chunk.indexOf(quote, from);
    const end = found === -1 ? chunk.length : found;
    this.#escaped = isEscaped(chunk, from, end, this.#escaped);
    return end;
  }
}

/** Whether the byte at `end` is escaped, by the backslashes right before it; `escaped`: whether that at `from` is. */
function isEscaped(chunk: Buffer, from: number, end: number, escaped: boolean): boolean {
  let run = end;
  while (run > from && chunk[run - 1] === backslash) run--;
  const isOdd = (end - run) % 2 === 1;
  return run === from && escaped ? !isOdd : isOdd;
}
