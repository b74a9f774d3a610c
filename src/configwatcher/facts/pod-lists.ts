/**
 * Pod lists: the Pods of a watcher as the API server has them. Without a resourceVersion it answers from a quorum, so
 * no Pod that exists is missing.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import type { Client } from '../../runtime/client/client.ts';
import { labelSelectorOf, selects } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { withRight } from './missing-right.ts';
import type { Observed, SourceContent } from './observed.ts';
import { ofOwnWorkload } from './own-workload.ts';
import { type PodFacts, podFactsOf, transformListedPod } from './pod-facts.ts';

export class PodLists {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Those that the spec selects. */
  async selected(
    watcher: ConfigWatcher,
    { selector }: WatcherSpec,
    sources: readonly SourceContent[],
    signal: AbortSignal,
  ): Promise<PodFacts[]> {
    const listed = await this.#list(watcher, labelSelectorOf(selector), transformListedPod, signal);
    return listed.map((pod) => podFactsOf(pod, isAfter(sources)));
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
    const transform = (pod: Pod) => {
      const { uid = '', labels } = pod.metadata;
      if (selects(selector, labels)) selected.add(uid);
      return transformListedPod(pod);
    };
    const listed = await this.#list(watcher, other, transform, signal);
    const facts = listed.map((pod) => podFactsOf(pod, isAfter(sources)));
    return {
      selected: facts.filter(({ uid }) => selected.has(uid)),
      leftOut: facts.filter(({ uid }) => !selected.has(uid)),
    };
  }

  async #list(
    watcher: ConfigWatcher,
    labelSelector: string,
    transform: (pod: Pod) => Pod,
    signal: AbortSignal,
  ): Promise<readonly Pod[]> {
    const { namespace = '' } = watcher.metadata;
    const list = this.#client.list<Pod>(pods, { namespace, labelSelector, transform, signal });
    const { items } = await withRight('list', pods.plural, list);
    return ofOwnWorkload(watcher, items);
  }
}

/** Tells of the version of a Pod whether it is later than those of all sources. */
function isAfter(sources: readonly SourceContent[]): (version: string) => boolean {
  const versions = sources.map(({ version }) => version);
  return (pod) =>
    versions.every((version) => version !== undefined && (compareResourceVersions(pod, version) ?? 0) > 0);
}
