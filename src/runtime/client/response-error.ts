/**
 * Response error: turns an answer that is not 2xx into an {@link ApiError} with a message that people can
 * read, also when it comes from a proxy and is a page of HTML.
 */
import { ApiError, isRetryAfter } from './api-error.ts';
import { checkedStatus } from './checked-status.ts';
import type { Status } from './client.ts';
import type { Response, ResponseHeaders } from './exchange.ts';
import { redactStatus } from './redact.ts';

/** Characters of a foreign body that go into a message. */
const excerptLength = 200;

/** @param title `GET https://host/path`. */
export function errorOfResponse(title: string, { code, headers, body }: Response): ApiError {
  const raw = statusOf(body);
  if (raw === undefined) {
    const text = isEncoded(headers) ? '' : excerpt(headers, body.toString('utf8', 0, 4096));
    const message = `${title}: HTTP ${code}${text === '' ? '' : `: ${text}`}`;
    return new ApiError(message, code, { code, message: text }, retryAfterHeader(headers));
  }
  const status = redactStatus(raw);
  const seconds = status.details?.retryAfterSeconds;
  const retryAfter = retryAfterHeader(headers) ?? (seconds === undefined ? undefined : seconds * 1000);
  return new ApiError(
    status.message || `${title}: HTTP ${code} ${status.reason ?? ''}`.trimEnd(),
    code,
    status,
    retryAfter,
  );
}

/** Whether the body was the API server's own answer, rather than that of something before it. */
export function isStatusError(error: ApiError): boolean {
  return error.status.kind === 'Status';
}

/**
 * Milliseconds; undefined without the header, and when it is out of range. Only seconds are understood: Kubernetes
 * sends no dates.
 */
function retryAfterHeader(headers: ResponseHeaders): number | undefined {
  const value = headers['retry-after'];
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return undefined;
  const milliseconds = Number(value) * 1000;
  return isRetryAfter(milliseconds) ? milliseconds : undefined;
}

function statusOf(body: Buffer): Status | undefined {
  // The shortest Status is longer, and 0x7b is `{`.
  if (body.length < 10 || body[0] !== 0x7b) return undefined;
  try {
    return checkedStatus(JSON.parse(body.toString('utf8')));
  } catch {
    return undefined;
  }
}

/** Compressed, by something before the API server, which sends short answers as they are. */
function isEncoded(headers: ResponseHeaders): boolean {
  return (headers['content-encoding'] ?? 'identity') !== 'identity';
}

/** The beginning of a body, in one line and without markup. */
function excerpt(headers: ResponseHeaders, body: string): string {
  const isMarkup = String(headers['content-type'] ?? '').includes('html') || body.trimStart().startsWith('<');
  const text = isMarkup ? body.replace(/<(style|script)\b.*?<\/\1>/gis, ' ').replace(/<[^>]*>/g, ' ') : body;
  // Control characters could do harm in a terminal.
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > excerptLength ? `${line.slice(0, excerptLength)}…` : line;
}
