/**
 * Watch stream: the bytes of a watch response as watch events.
 */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { TransportError } from './api-error.ts';
import type { WatchEvent } from './client.ts';
import { LineSplitter } from './json-lines.ts';

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/**
 * @param complete is applied to the object of every event that is not an ERROR.
 * @throws {TransportError} for a line that is no watch event, and when the stream ends within a line:
 * then the connection was cut although it looks like a regular end.
 */
export async function* watchEvents<T extends KubernetesObject>(
  stream: AsyncIterable<Buffer>,
  complete: (object: T) => T,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const lines = new LineSplitter();
  for await (const chunk of stream) {
    for (const line of lines.push(chunk)) {
      const event = parseEvent<T>(line);
      yield event.type === 'ERROR' || event.type === 'BOOKMARK'
        ? event
        : { type: event.type, object: complete(event.object) };
    }
  }
  if (lines.withinLine) throw new TransportError('the watch ended in the middle of an event', true);
}

function parseEvent<T>(line: string): WatchEvent<T> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    throw malformed();
  }
  if (!isWatchEvent<T>(event)) throw malformed();
  return event;
}

function isWatchEvent<T>(value: unknown): value is WatchEvent<T> {
  if (typeof value !== 'object' || value === null || !('type' in value && types.has(value.type)))
    return false;
  return 'object' in value && typeof value.object === 'object' && value.object !== null;
}

/** Without the line, and without the parser's error, which quotes it: it may hold the content of a Secret. */
function malformed(): TransportError {
  return new TransportError('a line of the watch is no watch event', true);
}
