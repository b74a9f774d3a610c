/**
 * AnnotationStore: keeps the state of an annotated ConfigMap in an annotation of it, so that a ConfigMap
 * needs no second object. A tool that replaces the whole object drops it; what is found then is a first
 * sight for the next process.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher, ConfigWatcherStatus } from '../../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import { configMaps } from '../../kubernetes/objects.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Request } from '../../runtime/controller/reconciler.ts';
import { writeState } from '../decide/watcher-status.ts';
import { watcherOf } from '../facts/annotated-config-map.ts';
import { ifFound, withRight } from '../facts/missing-right.ts';
import { readState, type WatcherState } from '../facts/state.ts';
import { specOf, transformSource } from '../facts/watched-objects.ts';
import { type WatcherStore, type Written, writtenBy } from './state-store.ts';

/** Without the number of Pods: a ConfigMap is not to be written whenever its application is scaled. */
function stored(state: WatcherState): ConfigWatcherStatus {
  const { matchedPods, ...rest } = writeState(state);
  return rest;
}

export class AnnotationStore implements WatcherStore {
  readonly hasStatus = true;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async live({ namespace, name }: Request, signal: AbortSignal): Promise<ConfigWatcher | undefined> {
    const configMap = await ifFound(this.#client.get(configMaps, { namespace, name }, { signal }));
    return configMap && watcherOf(transformSource(configMap));
  }

  read(watcher: ConfigWatcher, remembered: WatcherState | undefined): WatcherState {
    const state = readState(watcher.status);
    if (!remembered) return state;
    // The report of a bad selector is in memory only, and must not be repeated at every edit of the ConfigMap.
    const isKept = state.appliedHash !== undefined && !('invalid' in specOf(watcher));
    return isKept ? { ...state, matchedPods: remembered.matchedPods } : remembered;
  }

  /** Of a bad selector nothing is kept: an Event says what is wrong, and the ConfigMap stays as it is. */
  isStored(watcher: ConfigWatcher, state: WatcherState): boolean {
    return 'invalid' in specOf(watcher) || isDeepStrictEqual(stored(state), watcher.status);
  }

  /** With the resourceVersion the decision was made on: an edit meanwhile is looked at first. */
  write({ metadata }: ConfigWatcher, state: WatcherState, signal: AbortSignal): Promise<Written> {
    const { namespace = '', name, resourceVersion } = metadata;
    const annotations = { [watcherAnnotation.observed]: JSON.stringify(stored(state)) };
    const body = { metadata: { resourceVersion, annotations } };
    const patch = this.#client.patch(configMaps, { namespace, name }, { type: 'merge', body }, { signal });
    return writtenBy(withRight('patch', configMaps.plural, patch));
  }
}
