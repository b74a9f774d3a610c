/**
 * StateStore: where the state of a watcher is kept. That is its status, unless a CRD without the status
 * subresource (the book's own, applied over ours) is in place: then the API server drops the status, and the
 * state is kept in an annotation of the watcher until our CRD is back.
 *
 * Every write carries the resourceVersion of the object the decision was made on, so of two operators one
 * fails here, before it has done anything.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher, ConfigWatcherStatus } from '../../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { isConflict, isProvenNotFound } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Request } from '../../runtime/controller/reconciler.ts';
import { writeState } from '../decide/watcher-status.ts';
import { ifFound, withRight } from '../facts/missing-right.ts';
import { readState, type WatcherState } from '../facts/state.ts';

export type Written =
  /** The resourceVersion of the watcher with this state. */
  | { readonly version: string }
  /** Another client wrote first, so the decision may be about an old state. */
  | 'Conflict'
  /** The watcher does not exist any more. */
  | 'Gone';

/** What became of a write that is bound to a resourceVersion. */
export async function writtenBy(write: Promise<KubernetesObject>): Promise<Written> {
  try {
    const { resourceVersion = '' } = (await write).metadata;
    return { version: resourceVersion };
  } catch (error) {
    if (isConflict(error)) return 'Conflict';
    if (isProvenNotFound(error)) return 'Gone';
    throw error;
  }
}

/** Milliseconds after which to try the status again, should discovery not tell before. */
const lookAgainMs = 60_000;

/** What a reconciler needs of the place where states are kept. */
export type WatcherStore = Pick<StateStore, 'hasStatus' | 'live' | 'read' | 'isStored' | 'write'>;

export class StateStore {
  readonly #resource: Resource<ConfigWatcher>;
  readonly #client: Client;
  readonly #clock: Clock;
  /** Monotonic time until which the status subresource is taken for missing. */
  #withoutStatusUntil = Number.NEGATIVE_INFINITY;

  constructor(resource: Resource<ConfigWatcher>, client: Client, clock: Clock) {
    this.#resource = resource;
    this.#client = client;
    this.#clock = clock;
  }

  /** False while watchers have no status subresource. */
  get hasStatus(): boolean {
    return this.#clock.monotonic() >= this.#withoutStatusUntil;
  }

  /** What discovery says of the status subresource; it holds until it says something else, or the API server does. */
  learn(hasStatus: boolean): void {
    this.#withoutStatusUntil = hasStatus ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** The watcher as the API server has it now; undefined when it does not exist any more. */
  live({ namespace, name }: Request, signal: AbortSignal): Promise<ConfigWatcher | undefined> {
    return ifFound(this.#client.get(this.#resource, { namespace, name }, { signal }));
  }

  /**
   * The state of a watcher.
   *
   * @param remembered the state this process wrote last. When the status disappears, that is all there is:
   *   without it the next look would be a first sight.
   */
  read(watcher: ConfigWatcher, remembered: WatcherState | undefined): WatcherState {
    const ofStatus = readState(watcher.status);
    if (ofStatus.appliedHash !== undefined) return ofStatus;
    const ofAnnotation = annotated(watcher);
    if (ofAnnotation?.appliedHash !== undefined) return ofAnnotation;
    return remembered?.appliedHash === undefined ? ofStatus : remembered;
  }

  /**
   * Nothing has to be written for this state. Where there is no status, the watch may still show the one of
   * before: the watch does not report that the CRD was replaced.
   */
  isStored({ status, metadata }: ConfigWatcher, state: WatcherState): boolean {
    const wanted = writeState(state);
    if (this.hasStatus) return isDeepStrictEqual(wanted, status);
    return metadata.annotations?.[watcherAnnotation.observed] === JSON.stringify(wanted);
  }

  write(watcher: ConfigWatcher, state: WatcherState, signal: AbortSignal): Promise<Written> {
    return writtenBy(this.#write(watcher, writeState(state), signal));
  }

  async #write(
    watcher: ConfigWatcher,
    status: ConfigWatcherStatus,
    signal: AbortSignal,
  ): Promise<ConfigWatcher> {
    const written = this.hasStatus ? await this.#writeStatus(watcher, status, signal) : undefined;
    return written ?? this.#writeAnnotation(watcher, JSON.stringify(status), signal);
  }

  /** Undefined when there is no such subresource. */
  async #writeStatus(
    watcher: ConfigWatcher,
    status: ConfigWatcherStatus,
    signal: AbortSignal,
  ): Promise<ConfigWatcher | undefined> {
    const { namespace = '', name, uid, annotations } = watcher.metadata;
    let written: ConfigWatcher;
    try {
      const update = this.#client.updateStatus(this.#resource, { ...watcher, status }, { signal });
      written = await withRight('update', `${this.#resource.plural}/status`, update);
    } catch (error) {
      if (!isProvenNotFound(error)) throw error;
      // The same answer for a missing subresource and a missing watcher: this throws for the second. One that was
      // created again since then proves nothing: the states of all watchers would go where no reader looks.
      const found = await this.#client.get(this.#resource, { namespace, name }, { signal });
      if (found.metadata.uid !== uid) throw error;
      this.#withoutStatusUntil = this.#clock.monotonic() + lookAgainMs;
      return undefined;
    }
    // From here on the annotation would be an old state, should the status disappear again. A crash before
    // the next line leaves it; the status is read first.
    if (annotations?.[watcherAnnotation.observed] !== undefined) {
      await this.#patchAnnotation({ namespace, name }, null, {}, signal);
    }
    // Not the version of the patch: it may carry what another replica has written in between.
    return written;
  }

  #writeAnnotation({ metadata }: ConfigWatcher, text: string, signal: AbortSignal): Promise<ConfigWatcher> {
    const { namespace = '', name, resourceVersion } = metadata;
    return this.#patchAnnotation({ namespace, name }, text, { resourceVersion }, signal);
  }

  #patchAnnotation(
    key: { namespace: string; name: string },
    value: string | null,
    precondition: { resourceVersion?: string | undefined },
    signal: AbortSignal,
  ): Promise<ConfigWatcher> {
    const body = { metadata: { ...precondition, annotations: { [watcherAnnotation.observed]: value } } };
    const patch = this.#client.patch(this.#resource, key, { type: 'merge', body }, { signal });
    return withRight('patch', this.#resource.plural, patch);
  }
}

function annotated({ metadata }: ConfigWatcher): WatcherState | undefined {
  const text = metadata.annotations?.[watcherAnnotation.observed];
  if (text === undefined) return undefined;
  try {
    const status: unknown = JSON.parse(text);
    return typeof status === 'object' && status !== null && !Array.isArray(status)
      ? readState(status)
      : undefined;
  } catch {
    // A text of another author counts as none.
    return undefined;
  }
}
