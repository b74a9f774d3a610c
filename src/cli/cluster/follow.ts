/** Follow: one object as it changes, over any number of watches. */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { ApiError, isNotFound, TransportError } from '../../runtime/client/api-error.ts';
import type { Client, ObjectKey } from '../../runtime/client/client.ts';
import { sleep } from '../../runtime/clock.ts';
import type { Call } from '../program/command.ts';
import { UsageError } from '../program/exit.ts';
import { parseLength } from '../time/span.ts';
import type { Cluster } from './cluster.ts';

/** Between two tries while the API server gives no answer, ms. */
const pause = 1000;
/** After which the server ends a watch, and another one begins. */
const timeoutSeconds = 300;

/**
 * Each state of the object, the present one first; ends when the object is deleted, another one of its name included.
 *
 * @throws what the first read ends with, {@link ApiError} for one that is not there; and the signal's reason.
 */
export async function* statesOf<T extends KubernetesObject>(
  cluster: Pick<Cluster, 'client' | 'clock'>,
  resource: Resource<T>,
  key: ObjectKey,
  signal: AbortSignal,
): AsyncGenerator<T, void> {
  let uid: string | undefined;
  for (;;) {
    const object: T | undefined = await read(cluster, resource, key, { signal, isFirst: uid === undefined });
    if (object === undefined || (uid !== undefined && object.metadata.uid !== uid)) return;
    uid = object.metadata.uid;
    yield object;
    const isDeleted = yield* changes(cluster.client, resource, object, signal);
    if (isDeleted) return;
    await sleep(cluster.clock, pause, signal);
  }
}

/** What one watch shows. Returns whether the object was deleted; otherwise the watch has come to an end. */
async function* changes<T extends KubernetesObject>(
  client: Client,
  resource: Resource<T>,
  { metadata }: T,
  signal: AbortSignal,
): AsyncGenerator<T, boolean> {
  const { name, namespace, resourceVersion = '' } = metadata;
  const place = namespace === undefined ? { name } : { namespace, name };
  try {
    for await (const { type, object } of await watch(client, resource, place, resourceVersion, signal)) {
      if (type === 'ERROR') return false;
      if (type === 'DELETED') return true;
      if (type !== 'BOOKMARK') yield object;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!isPassing(error)) throw error;
  }
  return false;
}

function watch<T extends KubernetesObject>(
  client: Client,
  resource: Resource<T>,
  { namespace, name }: ObjectKey,
  resourceVersion: string,
  signal: AbortSignal,
) {
  const where = namespace === undefined ? {} : { namespace };
  const fieldSelector = `metadata.name=${name}`;
  return client.watch(resource, { ...where, fieldSelector, resourceVersion, timeoutSeconds, signal });
}

/** Tries until there is an answer, but for the first time. Undefined: it is not there any more. */
async function read<T extends KubernetesObject>(
  { client, clock }: Pick<Cluster, 'client' | 'clock'>,
  resource: Resource<T>,
  key: ObjectKey,
  { signal, isFirst }: { readonly signal: AbortSignal; readonly isFirst: boolean },
): Promise<T | undefined> {
  for (;;) {
    try {
      return await client.get(resource, key, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (isFirst) throw error;
      if (isNotFound(error)) return undefined;
      if (!isPassing(error)) throw error;
    }
    await sleep(clock, pause, signal);
  }
}

/** A watch that is cut, a server that restarts or has forgotten the version: another try helps. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof TransportError ||
    (error instanceof ApiError && (error.code >= 429 || error.code === 410))
  );
}

/**
 * The first state for which `found` gives something, and that; undefined when the object was deleted before.
 *
 * @throws as {@link statesOf}.
 */
export async function firstState<T extends KubernetesObject, R>(
  cluster: Pick<Cluster, 'client' | 'clock'>,
  resource: Resource<T>,
  key: ObjectKey,
  { signal, found }: { readonly signal: AbortSignal; found(object: T): R | undefined },
): Promise<R | undefined> {
  for await (const object of statesOf(cluster, resource, key, signal)) {
    const result = found(object);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** The time is over. */
export class TimeOver extends Error {
  override readonly name = 'TimeOver';
}

/**
 * `--timeout` in ms; undefined for ever.
 *
 * @throws {UsageError} for a text that is no length of time.
 */
export function timeoutOf(call: Pick<Call, 'value'>): number | undefined {
  const timeout = call.value('timeout');
  const limit = timeout === undefined ? undefined : parseLength(timeout);
  if (timeout !== undefined && limit === undefined) {
    throw new UsageError(`--timeout is a length of time such as 90s, 30m or 2h, not "${timeout}"`);
  }
  return limit;
}

/**
 * Runs `work` with a signal that is aborted after `limit` ms, if there is one, or with `signal`.
 *
 * @returns a TimeOver when the limit was reached.
 */
export async function within<R>(
  { clock, signal, limit }: { clock: Cluster['clock']; signal: AbortSignal; limit: number | undefined },
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R | TimeOver> {
  const controller = new AbortController();
  const timer =
    limit === undefined
      ? undefined
      : clock.setTimer(Math.min(limit, 2 ** 31 - 1), () => controller.abort(new TimeOver()));
  try {
    return await work(AbortSignal.any([signal, controller.signal]));
  } catch (error) {
    if (controller.signal.aborted && !signal.aborted) return controller.signal.reason as TimeOver;
    throw error;
  } finally {
    timer?.cancel();
  }
}
