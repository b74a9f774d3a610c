/**
 * Headers of the answers of one server: when each was made, and which request it answers.
 */
import type { Random } from '../random.ts';
import type { ServerTime } from './api-message.ts';

export class AnswerHeaders {
  readonly #time: ServerTime;
  readonly #auditPrefix: string;
  #requests = 0;

  constructor(time: ServerTime, random: Random) {
    this.#time = time;
    this.#auditPrefix = random.uuid().slice(0, 24);
  }

  next(contentType = 'application/json'): Record<string, string> {
    this.#requests++;
    return {
      'content-type': contentType,
      date: httpDate(this.#time.now),
      'audit-id': `${this.#auditPrefix}${this.#requests.toString(16).padStart(12, '0')}`,
    };
  }
}

let dateSecond = -1;
let dateText = '';

/** Whole seconds, as HTTP has them. */
function httpDate(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}
