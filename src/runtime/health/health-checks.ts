/**
 * HealthChecks: a named list of checks behind one path, answered as Kubernetes' own components do
 * (apiserver/pkg/server/healthz): which check fails is answered to every request, the reason only logged.
 */
import type { Clock } from '../clock.ts';
import { type HttpReply, plainText } from '../http-server.ts';
import type { Logger } from '../logger.ts';
import { endsWithin } from '../time-limit.ts';

/** How long a check may take, ms; one that hangs would otherwise hang every probe. */
const checkLimit = 5000;

/**
 * A check of `/healthz` or `/readyz`: it throws, or rejects, with the reason as long as something is wrong.
 * Fails after 5 s without an answer.
 */
export type HealthCheck = () => void | Promise<void>;

/** How a check of the process counts. */
export interface HealthCheckOptions {
  /** False: its failure is listed and logged, and does not fail the whole. Default true. */
  readonly required?: boolean;
}

export class HealthChecks {
  readonly #path: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #checks = new Map<string, HealthCheck>();
  readonly #optional = new Set<string>();
  readonly #failing = new Set<string>();

  /** @param path without a slash: `healthz`. */
  constructor(path: string, log: Logger, clock: Clock) {
    this.#path = path;
    this.#log = log;
    this.#clock = clock;
  }

  /** @param name `[A-Za-z0-9-]+`; also the last part of the check's own path. */
  add(name: string, check: HealthCheck, { required = true }: HealthCheckOptions = {}): void {
    if (!/^[A-Za-z0-9-]+$/.test(name)) throw new Error(`${JSON.stringify(name)} is no name for a check`);
    if (this.#checks.has(name)) throw new Error(`there is a ${this.#path} check named ${name} already`);
    this.#checks.set(name, check);
    if (!required) this.#optional.add(name);
  }

  /** Runs all checks but those named by `exclude`; `verbose` lists them also when all is well. */
  async report(query: URLSearchParams): Promise<HttpReply> {
    const excluded = new Set(query.getAll('exclude'));
    const lines: string[] = [];
    let failed = false;
    for (const [name, check] of this.#checks) {
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`);
      } else if (await this.#passes(name, check)) {
        lines.push(`[+]${name} ok`);
      } else if (this.#optional.has(name)) {
        lines.push(`[!]${name} failed, which does not count: reason withheld`);
      } else {
        lines.push(`[-]${name} failed: reason withheld`);
        failed = true;
      }
    }
    if (excluded.size > 0) lines.push('warn: some checks could not be excluded: there are none of that name');
    lines.push(`${this.#path} check ${failed ? 'failed' : 'passed'}`, '');
    if (!failed && !query.has('verbose')) return { status: 200, contentType: plainText, body: 'ok' };
    return { status: failed ? 500 : 200, contentType: plainText, body: lines.join('\n') };
  }

  /** Runs one check; undefined when there is none of that name. */
  async reportOne(name: string): Promise<HttpReply | undefined> {
    const check = this.#checks.get(name);
    if (check === undefined) return undefined;
    if (await this.#passes(name, check)) return { status: 200, contentType: plainText, body: 'ok' };
    const body = `[-]${name} failed: reason withheld\n${this.#path} check failed\n`;
    return { status: 500, contentType: plainText, body };
  }

  /** Logs when a check begins to fail and when it passes again; a probe asks far too often for more. */
  async #passes(name: string, check: HealthCheck): Promise<boolean> {
    const fields = { check: `${this.#path}/${name}` };
    try {
      const answered = await endsWithin(this.#clock, checkLimit, Promise.resolve(check()));
      if (!answered) throw new Error(`no answer within ${checkLimit / 1000} s`);
      if (this.#failing.delete(name)) this.#log.info(fields, 'health check passes again');
      return true;
    } catch (error) {
      if (!this.#failing.has(name)) this.#log.warn({ ...fields, err: error }, 'health check fails');
      this.#failing.add(name);
      return false;
    }
  }
}
