/**
 * What undici is given for a request, as the API server sees it.
 */
import type { Dispatcher } from 'undici';
import { type ApiRequest, type Method, splitTarget } from '../api-server/api-message.ts';

/** @param user who asks. */
export function requestOf(
  { method, path: target, headers, body }: Dispatcher.DispatchOptions,
  user: string,
): ApiRequest {
  const { path, query } = splitTarget(target);
  const record: Record<string, string> = {};
  // Names and values in turn: the transport gives no other form.
  const flat = headers as readonly string[];
  for (let i = 0; i + 1 < flat.length; i += 2) record[flat[i] as string] = flat[i + 1] as string;
  return {
    ...{ method: method as Method, path, query, headers: record, user },
    body: typeof body === 'string' ? body : '',
  };
}
