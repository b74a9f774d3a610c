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

const day = 86_400;
let knownDay = Number.NaN;
let knownSecond = Number.NaN;
/** `Mon, 01 Jan 2024 ` */
let dayText = '';
let dateText = '';

/** Whole seconds, as HTTP has them. A day has the same text for all of its seconds. */
function httpDate(now: number): string {
  const second = Math.floor(now / 1000);
  if (second === knownSecond) return dateText;
  const date = Math.floor(second / day);
  if (date !== knownDay) {
    knownDay = date;
    dayText = new Date(date * day * 1000).toUTCString().slice(0, 17);
  }
  const time = second - date * day;
  const [hours, minutes] = [Math.floor(time / 3600), Math.floor(time / 60) % 60];
  knownSecond = second;
  dateText = `${dayText}${twoDigits[hours]}:${twoDigits[minutes]}:${twoDigits[time % 60]} GMT`;
  return dateText;
}

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
