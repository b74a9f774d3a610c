/** LogLines: what operators in a simulated cluster have logged, one line each, for the message of a failed test. */
import { errorFields, type Logger, type LogMethod } from '../runtime/logger.ts';

/** Older lines are dropped. */
const longest = 10_000;

/** A log in memory, for a test to look at. */
export class LogLines {
  readonly lines: string[] = [];
  readonly #now: () => number;

  /** @param now epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A Logger that adds these fields to each line. */
  logger(fields: object = {}): Logger {
    const method = (level: string): LogMethod => {
      return (first: object | string, message?: string) => {
        const own = typeof first === 'string' ? {} : first;
        this.#add(level, message ?? String(first), { ...fields, ...own });
      };
    };
    return {
      ...{ debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') },
      child: (more) => this.logger({ ...fields, ...more }),
    };
  }

  #add(level: string, message: string, fields: object): void {
    const text = JSON.stringify(fields, (_, value) => (value instanceof Error ? errorFields(value) : value));
    this.lines.push(`${new Date(this.#now()).toISOString()} ${level} ${message} ${text}`);
    if (this.lines.length > longest) this.lines.shift();
  }
}
