/**
 * Time limit of a request: its query parameter `timeout`, a duration as Go writes it.
 */
import { badRequest, Failure } from './failure.ts';

/** Milliseconds after which the server gives up a request that names no limit. */
const defaultLimit = 60_000;

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds. @throws Failure 400 for what is no duration. */
export function timeLimitOf(query: ReadonlyMap<string, string>): number {
  const text = query.get('timeout');
  if (text === undefined || text === '') return defaultLimit;
  if (text === lastText) return lastLimit;
  lastLimit = parsedLimit(text);
  lastText = text;
  return lastLimit;
}

/** A client says the same again and again. */
let lastText = '';
let lastLimit = defaultLimit;

function parsedLimit(text: string): number {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) {
    const why = `time: invalid duration ${JSON.stringify(text)}`;
    throw badRequest(`invalid timeout specified in the request URL - ${why}`);
  }
  let limit = 0;
  for (const [, number, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    limit += Number(number) * (units[unit] ?? 0);
  }
  return limit === 0 ? defaultLimit : Math.min(limit, defaultLimit);
}

/** The one answer that the API server writes without kind and apiVersion. */
export function timedOut(): Failure {
  const message = 'Timeout: request did not complete within the allotted timeout';
  const failure = new Failure(504, 'Timeout', message, {});
  const { kind, apiVersion, ...status } = failure.status;
  failure.status = status;
  return failure;
}
