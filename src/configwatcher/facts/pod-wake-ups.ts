/**
 * Pod wake-ups: tells watchers that the Pods they select have changed. What the change means is read live
 * when it matters; so events may be folded, and are: a rollout of a thousand Pods wakes a watcher a few
 * times a second and not thousands of times.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { requestFor, requestKey, requestOfKey } from '../../runtime/controller/reconciler.ts';
import type { Enqueue, Source } from '../../runtime/controller/source.ts';
import { selects } from '../plan/selector.ts';
import type { WatcherState } from './state.ts';
import { specOf } from './watched-objects.ts';

/**
 * Milliseconds from an event to the look at it. While a restart waits for it: as long, about, as the list takes
 * that the look begins with, so that lists take at most half of the time.
 */
const soonest = 25;
const perPod = 0.1;
const latest = 2000;
/** At rest. */
const later = 5000;

/** Behind edits: the first Pod of one watcher goes before the next look at another. */
const wakeUpPriority = -10;

/**
 * @param pods metadata only.
 * @param stateOf the state of a watcher, wherever that is kept; asked once per version of the watcher.
 */
export function podWakeUps({
  pods,
  watchers,
  stateOf,
  clock,
}: {
  readonly pods: Informer<KubernetesObject>;
  readonly watchers: Lister<ConfigWatcher>;
  readonly stateOf: (watcher: ConfigWatcher) => WatcherState;
  readonly clock: Clock;
}): Source {
  return {
    start(enqueue, _log, stop) {
      if (stop.aborted) return;
      const agenda = new Agenda(clock, enqueue);
      const states = new WeakMap<ConfigWatcher, WatcherState>();
      const known = (watcher: ConfigWatcher) => {
        const state = states.get(watcher) ?? stateOf(watcher);
        states.set(watcher, state);
        return state;
      };
      const changed = (object: KubernetesObject, previous?: KubernetesObject) => {
        const { namespace = '' } = object.metadata;
        for (const watcher of watchers.list(namespace)) {
          const delay = delayOf(watcher, known, object, previous);
          if (delay !== undefined) agenda.put(requestKey(requestFor(watcher)), delay);
        }
      };
      const remove = pods.addHandler({
        // The first list tells nothing that the first look at each watcher would not see.
        onAdd: (object, initial) => initial || changed(object),
        onUpdate: (previous, current) => changed(current, previous),
        onDelete: (object) => changed(object),
      });
      const end = () => {
        remove();
        agenda.clear();
      };
      stop.addEventListener('abort', end, { once: true });
    },
    waitForSync: (stop) => pods.waitForSync(stop),
  };
}

/** When the watcher has to look at this; undefined: never. */
function delayOf(
  watcher: ConfigWatcher,
  stateOf: (watcher: ConfigWatcher) => WatcherState,
  object: KubernetesObject,
  previous: KubernetesObject | undefined,
): number | undefined {
  const spec = specOf(watcher);
  if ('invalid' in spec) return undefined;
  const is = selects(spec.selector, object.metadata.labels);
  const was = previous ? selects(spec.selector, previous.metadata.labels) : is;
  if (!is && !was) return undefined;
  const { pending, matchedPods } = stateOf(watcher);
  if (pending?.started !== undefined) return Math.min(latest, Math.max(soonest, matchedPods * perPod));
  // At rest only the number of Pods is shown: news of a Pod that stays selected change nothing.
  const counts =
    !previous || is !== was || previous.metadata.deletionTimestamp !== object.metadata.deletionTimestamp;
  return counts ? later : undefined;
}

/** One timer per key; the earlier time wins. */
class Agenda {
  readonly #clock: Clock;
  readonly #enqueue: Enqueue;
  readonly #scheduled = new Map<string, { readonly timer: Timer; readonly due: number }>();

  constructor(clock: Clock, enqueue: Enqueue) {
    this.#clock = clock;
    this.#enqueue = enqueue;
  }

  put(key: string, delay: number): void {
    const due = this.#clock.monotonic() + delay;
    const known = this.#scheduled.get(key);
    if (known && known.due <= due) return;
    known?.timer.cancel();
    const timer = this.#clock.setTimer(delay, () => {
      this.#scheduled.delete(key);
      this.#enqueue(requestOfKey(key), { priority: wakeUpPriority });
    });
    this.#scheduled.set(key, { timer, due });
  }

  clear(): void {
    for (const { timer } of this.#scheduled.values()) timer.cancel();
    this.#scheduled.clear();
  }
}
