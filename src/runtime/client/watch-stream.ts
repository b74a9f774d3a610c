/**
 * Watch stream: the bytes of a watch response as watch events.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import { Pace } from '../pace.ts';
import { TransportError } from './api-error.ts';
import type { WatchEvent } from './client.ts';
import { LineSplitter } from './json-lines.ts';

/** What came is no watch event, or only the beginning of one: asked again, the server may send the same. */
export class UnreadableEventError extends TransportError {
  constructor(message: string) {
    super(message, true);
  }
}

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/**
 * The reader's work on one event counts as work of its turn of the event loop, so many of them do not block it.
 *
 * @param complete is applied to the object of every event that is not an ERROR.
 * @throws {UnreadableEventError} for a line that is no watch event, and when the stream ends within a line:
 * then the connection was cut although it looks like a regular end.
 */
export async function* watchEvents<T extends KubernetesObject>(
  stream: AsyncIterable<Buffer>,
  complete: (object: T) => T,
  clock: Clock,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const lines = new LineSplitter();
  const pace = new Pace(clock);
  for await (const chunk of stream) {
    pace.begin();
    for (const line of lines.push(chunk)) {
      const event = parseEvent<T>(line);
      yield event.type === 'ERROR' || event.type === 'BOOKMARK'
        ? event
        : { type: event.type, object: complete(event.object) };
      if (pace.isDue) await pace.turn();
    }
    pace.end();
  }
  if (lines.withinLine) throw new UnreadableEventError('the watch ended in the middle of an event');
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
  if (!isJson(value) || !types.has(value.type) || !isJson(value.object)) return false;
  return value.type !== 'BOOKMARK' || isBookmark(value.object);
}

function isBookmark({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return isJson(metadata) && typeof metadata.resourceVersion === 'string';
}

function isJson(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Without the line, and without the parser's error, which quotes it: it may hold the content of a Secret. */
function malformed(): UnreadableEventError {
  return new UnreadableEventError('a line of the watch is no watch event');
}
