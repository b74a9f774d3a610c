/** Watcher parts: what the parts of a ConfigWatcher controller are made of. Each of them names those that it takes. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EventRecorder } from '../../runtime/events/event-recorder.ts';
import type { Observer } from '../facts/observer.ts';
import type { ConfigWatcherMetrics } from './configwatcher-metrics.ts';
import type { PodControl } from './pod-control.ts';
import type { WatcherStore } from './state-store.ts';

export interface WatcherParts {
  /** What Events are about. */
  readonly resource: Resource;
  readonly watchers: Lister<ConfigWatcher>;
  /** The watch that fills them. */
  readonly watch: Pick<Informer<KubernetesObject>, 'staleness'>;
  readonly store: WatcherStore;
  readonly observer: Observer;
  readonly podControl: PodControl;
  readonly recorder: EventRecorder;
  readonly metrics: ConfigWatcherMetrics;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}
