/**
 * Answers of one server: to what was done, to what failed, and those that a fault puts in their place.
 */
import type { Random } from '../random.ts';
import { AnswerHeaders } from './answer-headers.ts';
import type { ApiAnswer, ServerTime } from './api-message.ts';
import { Failure, PageNotFound } from './failure.ts';
import type { Fault } from './faults.ts';
import type { Result } from './writes.ts';

export class Answers {
  readonly #headers: AnswerHeaders;

  constructor(time: ServerTime, random: Random) {
    this.#headers = new AnswerHeaders(time, random);
  }

  /** Headers of a stream. */
  streamHeaders(): ApiAnswer['headers'] {
    return this.#headers.next();
  }

  ofResult(result: Result | Failure): ApiAnswer {
    if (result instanceof Failure) return this.ofError(result);
    const { code, body } = result;
    return { code, headers: this.#headers.next(), body };
  }

  /** @throws what is no failure of a request. */
  ofError(error: unknown): ApiAnswer {
    if (!(error instanceof Failure)) throw error;
    if (error instanceof PageNotFound) {
      return { code: 404, headers: this.#headers.next('text/plain; charset=utf-8'), body: error.text };
    }
    const retryAfter = error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) };
    const headers = { ...this.#headers.next(), ...retryAfter };
    return { code: error.status.code, headers, body: JSON.stringify(error.status) };
  }

  ofFault(fault: Fault & { kind: 'status' }): ApiAnswer {
    const { code, reason = '', retryAfter, text, contentType = 'text/plain; charset=utf-8' } = fault;
    if (text === undefined) {
      const details = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter };
      return this.ofError(new Failure(code, reason, `scripted ${code}`, details));
    }
    // As something in between answers: without what tells an answer of Kubernetes.
    const headers = {
      'content-type': contentType,
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    };
    return { code, headers, body: text };
  }
}
