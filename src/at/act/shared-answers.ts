/**
 * Shared answers: a question to the API server is sent once for all that ask it at the same time, and its answer is
 * kept for a while. Of a thousand Ats of one author that fall due together, one asks.
 */
import type { Clock } from '../../runtime/clock.ts';

/** Milliseconds for which an answer holds. */
const freshMs = 60_000;
/** Questions that are kept, the newest. */
const maxQuestions = 1000;

export class SharedAnswers<T> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** `freshUntil`: monotonic milliseconds; infinite while the answer is under way. */
  readonly #questions = new Map<string, { readonly answer: Promise<T>; freshUntil: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * @param ask sends the question. It serves all that wait, so that it is not bound to `signal`; it has a time limit.
   * @param signal ends the wait of this caller.
   * @throws the error of `ask`, which is not kept; the reason of the signal.
   */
  async get(key: string, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const known = this.#questions.get(key);
    const isFresh = known !== undefined && this.#clock.monotonic() < known.freshUntil;
    const answer = isFresh ? known.answer : this.#send(key, ask);
    const broken = Promise.withResolvers<never>();
    const onAbort = () => broken.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([answer, broken.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #send(key: string, ask: () => Promise<T>): Promise<T> {
    const question = { answer: ask(), freshUntil: Number.POSITIVE_INFINITY };
    this.#questions.delete(key);
    this.#questions.set(key, question);
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > maxQuestions && oldest !== undefined) this.#questions.delete(oldest);
    question.answer.then(
      () => {
        question.freshUntil = this.#clock.monotonic() + freshMs;
      },
      () => {
        question.freshUntil = Number.NEGATIVE_INFINITY;
      },
    );
    return question.answer;
  }
}
