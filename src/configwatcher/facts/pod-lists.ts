/**
 * Pod lists: the Pods of a watcher as the API server has them. Without a resourceVersion it answers from a quorum, so
 * no Pod that exists is missing.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { type ObjectMeta, type Pod, pods } from '../../kubernetes/objects.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import type { Client } from '../../runtime/client/client.ts';
import { labelSelectorOf, selects } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { withRight } from './missing-right.ts';
import type { Observed, SourceContent } from './observed.ts';
import { ofOwnWorkload } from './own-workload.ts';
import { type PodFacts, podFactsOf, transformListedPod } from './pod-facts.ts';
import { rolloutAnnotation } from './rollout-annotation.ts';

export class PodLists {
  readonly #client: Client;
  readonly #group: string;

  /** @param group API group of the watchers. */
  constructor(client: Client, group: string) {
    this.#client = client;
    this.#group = group;
  }

  /** Those that the spec selects. */
  selected(
    watcher: ConfigWatcher,
    { selector }: WatcherSpec,
    sources: readonly SourceContent[],
    signal: AbortSignal,
  ): Promise<PodFacts[]> {
    return this.#list(watcher, labelSelectorOf(selector), sources, signal);
  }

  /** Those that another selector selects. */
  async former(
    watcher: ConfigWatcher,
    { selector }: WatcherSpec,
    other: string,
    sources: readonly SourceContent[],
    signal: AbortSignal,
  ): Promise<Required<Observed>['formerPods']> {
    const selected = new Set<string>();
    const note = ({ uid = '', labels }: ObjectMeta) => {
      if (selects(selector, labels)) selected.add(uid);
    };
    const listed = await this.#list(watcher, other, sources, signal, note);
    return {
      selected: listed.filter(({ uid }) => selected.has(uid)),
      leftOut: listed.filter(({ uid }) => !selected.has(uid)),
    };
  }

  /** @param note is given the metadata of each Pod, of which the facts leave most out. */
  async #list(
    watcher: ConfigWatcher,
    labelSelector: string,
    sources: readonly SourceContent[],
    signal: AbortSignal,
    note?: (metadata: ObjectMeta) => void,
  ): Promise<PodFacts[]> {
    const { namespace = '', name } = watcher.metadata;
    const transform = (pod: Pod) => {
      note?.(pod.metadata);
      return transformListedPod(pod);
    };
    const list = this.#client.list<Pod>(pods, { namespace, labelSelector, transform, signal });
    const { items } = await withRight('list', pods.plural, list);
    const isAfterSources = isAfter(sources);
    const annotation = rolloutAnnotation(this.#group, name);
    return ofOwnWorkload(watcher, items).map((pod) => podFactsOf(pod, isAfterSources, annotation));
  }
}

/** Tells of the version of a Pod whether it is later than those of all sources. */
function isAfter(sources: readonly SourceContent[]): (version: string) => boolean {
  const versions = sources.map(({ version }) => version);
  return (pod) =>
    versions.every((version) => version !== undefined && (compareResourceVersions(pod, version) ?? 0) > 0);
}
