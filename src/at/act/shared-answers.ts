/**
 * Shared answers: a question to the API server is sent once for all that ask it at the same time, and its answer is
 * kept for a while. Of a thousand Ats of one author that fall due together, one asks.
 */
import type { Clock } from '../../runtime/clock.ts';

/** Milliseconds for which an answer holds. */
const freshMs = 60_000;
/** Questions that are kept, the newest. */
const maxQuestions = 1000;

interface Question<T> {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly answer: Promise<T>;
  /** Monotonic milliseconds; infinite while the answer is under way. */
  freshUntil: number;
  /** The same question again, sent once this one is answered. */
  next?: Promise<T>;
}

export class SharedAnswers<T> {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #questions = new Map<string, Question<T>>();

  constructor(clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
  }

  /**
   * @param ask sends the question. It serves all that wait, so that it is not bound to `signal`; it has a time limit.
   * @param signal ends the wait of this caller.
   * @param notBefore epoch milliseconds: the question must have been sent since, or during this call.
   * @throws the error of `ask`, which is not kept; the reason of the signal.
   */
  async get(
    key: string,
    ask: () => Promise<T>,
    signal: AbortSignal,
    notBefore = Number.NEGATIVE_INFINITY,
  ): Promise<T> {
    signal.throwIfAborted();
    const answer = this.#answer(key, ask, notBefore);
    const broken = Promise.withResolvers<never>();
    const onAbort = () => broken.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([answer, broken.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #answer(key: string, ask: () => Promise<T>, notBefore: number): Promise<T> {
    const known = this.#questions.get(key);
    if (known === undefined || this.#clock.monotonic() >= known.freshUntil) return this.#send(key, ask);
    if (known.sentAt >= notBefore) return known.answer;
    if (Number.isFinite(known.freshUntil)) return this.#send(key, ask);
    // Of the many that need a later answer than the one under way, one asks.
    const again = () => this.#send(key, ask);
    known.next ??= known.answer.then(again, again);
    return known.next;
  }

  #send(key: string, ask: () => Promise<T>): Promise<T> {
    const sentAt = this.#clock.now();
    const question: Question<T> = { sentAt, answer: ask(), freshUntil: Number.POSITIVE_INFINITY };
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
