/**
 * Warnings: what the API server says in `Warning` headers (a deprecated version, an unknown field, a Pod that violates a
 * standard, a webhook's own words), each logged once, without the values of objects that it may quote.
 */
import type { Logger } from '../logger.ts';
import { redact } from './redact.ts';

/** Texts that are remembered, and logged at most. */
const most = 256;
/** Characters of a text. */
const longest = 300;
/** `299 - "text"`; several are separated by commas. */
const warning = /(\d{3}) \S+ "((?:[^"\\]|\\.)*)"/g;

export class Warnings {
  readonly #log: Logger;
  readonly #known = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param header as it came. @param request what it answers, such as `POST pods`. */
  observe(header: string | readonly string[], request: () => string): void {
    const values = typeof header === 'string' ? [header] : header;
    for (const text of values.flatMap(textsOf)) this.#tell(text, request);
  }

  #tell(text: string, request: () => string): void {
    if (this.#known.has(text) || this.#known.size >= most) return;
    this.#known.add(text);
    this.#log.warn({ request: request(), warning: text }, 'the API server warns');
    if (this.#known.size === most) {
      this.#log.warn({ warnings: most }, 'further warnings of the API server are not logged');
    }
  }
}

/** As client-go: only those of code 299 are for people. */
function textsOf(value: string): string[] {
  return Array.from(value.matchAll(warning))
    .filter(([, code]) => code === '299')
    .map(([, , text = '']) => readable(text))
    .filter((text) => text !== '');
}

function readable(quoted: string): string {
  const text = redact(quoted.replace(/\\(.)/g, '$1'));
  // Control characters could do harm in a terminal.
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
