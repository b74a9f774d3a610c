/**
 * Accounting: what every answer of the API server tells besides its body: how long it took, the server's time, and
 * warnings.
 */
import type { Clock } from '../clock.ts';
import type { AnswerTime } from '../server-clock.ts';
import type { ClientMetrics } from './client-metrics.ts';
import type { Response } from './exchange.ts';
import type { HttpRequest } from './http-request.ts';
import { resourceOf } from './resource-path.ts';
import type { Warnings } from './warnings.ts';

export interface AccountingOptions {
  readonly clock: Clock;
  readonly metrics: ClientMetrics;
  readonly warnings: Warnings;
  /** Called for every answer of Kubernetes itself, when it arrives. */
  readonly onAnswer?: ((answer: AnswerTime) => void) | undefined;
}

export class Accounting {
  readonly #options: AccountingOptions;

  constructor(options: AccountingOptions) {
    this.#options = options;
  }

  /** @param response undefined when there was none. @param sentAt monotonic ms. */
  observe({ method, path }: HttpRequest, response: Response | undefined, sentAt: number): void {
    const { metrics, clock, onAnswer, warnings } = this.#options;
    const receivedAt = clock.monotonic();
    metrics.observe(method, response?.code, receivedAt - sentAt);
    const { date, warning, 'audit-id': auditId } = response?.headers ?? {};
    if (warning !== undefined) warnings.observe(warning, () => `${method} ${resourceOf(path) ?? path}`);
    // A proxy that answers by itself has a clock of its own, and no audit log.
    if (typeof date !== 'string' || auditId === undefined) return;
    onAnswer?.({ date: Date.parse(date), sentAt, receivedAt });
  }
}
