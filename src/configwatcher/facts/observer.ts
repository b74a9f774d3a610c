/**
 * Observer: gathers the facts about one watcher that {@link decide} works on. The first facts come from
 * memory and the watches; what is expensive to read is read when decide asks for it.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import { controllerOf, type KubernetesObject } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import { selects } from '../plan/selector.ts';
import type { InvalidSpec, WatcherSpec } from '../plan/spec.ts';
import type { Need, Observed, OwnerFacts, SourceContent } from './observed.ts';
import { ofOwnWorkload } from './own-workload.ts';
import { OwnerReader } from './owner-reader.ts';
import type { PodFacts } from './pod-facts.ts';
import { PodLists } from './pod-lists.ts';
import type { RestartMemory } from './restart-memory.ts';
import { rolloutAnnotation } from './rollout-annotation.ts';
import { SourceReader } from './source-reader.ts';
import type { ReadRequest } from './source-reads.ts';
import type { WatcherState } from './state.ts';
import { specOf } from './watched-objects.ts';

/** Characters of the annotation restart-now that tell two values apart. */
const maxRestartNow = 128;

type ReadOptions = Pick<ReadRequest, 'isRecorded' | 'knownSince' | 'signal'>;

export class Observer {
  readonly #options;
  readonly #sources: SourceReader;
  readonly #owners: OwnerReader;
  readonly #pods: PodLists;

  constructor(
    options: ConstructorParameters<typeof SourceReader>[0] & {
      /** API group of the watchers. */
      readonly group: string;
      /** Of the objects that ask for restarts. */
      readonly kind: string;
      /** Metadata only: to be woken by, and to count; never to decide whether a Pod is restarted. */
      readonly pods: Lister<KubernetesObject>;
      /** Whether the operator may change the templates of workloads in a namespace; undefined: not known. */
      readonly rolloutRight?: (namespace: string) => Observed['rolloutRight'];
      /** Whether a restart may follow a list of Pods at once: what it takes besides is read meanwhile. */
      readonly mayRestartNow: (spec: WatcherSpec, state: WatcherState, now: number) => boolean;
      /** The Pod this process runs in. */
      readonly ownPod?: { readonly namespace: string; readonly name: string };
    },
  ) {
    this.#options = options;
    this.#sources = new SourceReader(options);
    this.#owners = new OwnerReader(options.client);
    this.#pods = new PodLists(options.client, options.group);
  }

  /** Never later than the API server's clock, epoch ms. */
  now(): number {
    return Math.floor(this.#options.clock.earliest());
  }

  /** What is known without any request. */
  known(watcher: ConfigWatcher, state: WatcherState, memory: RestartMemory): Observed {
    const { group, kind, ownPod } = this.#options;
    const { namespace = '', name, generation = 0 } = watcher.metadata;
    const spec = specOf(watcher);
    const rolloutRight = this.#options.rolloutRight?.(namespace);
    const restartNow = watcher.metadata.annotations?.[watcherAnnotation.restartNow];
    return {
      group,
      kind,
      namespace,
      name,
      generation,
      spec,
      state,
      sources: [],
      ...this.#watchedPods(watcher, spec),
      memory,
      now: this.now(),
      ...(restartNow && { restartNow: restartNow.slice(0, maxRestartNow) }),
      ...(rolloutRight && { rolloutRight }),
      ...(ownPod?.namespace === namespace && { ownPod: ownPod.name }),
    };
  }

  /**
   * With the sources; those whose object did not move come from memory, unless all are to be read afresh. The instant is
   * the one after the read: what was written to a source while it was read is no later.
   */
  async observe(
    watcher: ConfigWatcher,
    observed: Observed,
    options: ReadOptions & Pick<ReadRequest, 'afresh'>,
  ): Promise<Observed> {
    const sources = await this.#readSources(watcher, observed, options);
    return { ...observed, sources, now: this.now() };
  }

  /** The same facts and the answer. The instant is the one of the answer. */
  async answer(
    question: Exclude<Need, 'watcher'>,
    watcher: ConfigWatcher,
    observed: Observed,
    options: ReadOptions,
  ): Promise<Observed> {
    const more = await this.#read(question, watcher, observed, options);
    return { ...observed, ...more, now: this.now() };
  }

  /** @param watcher namespace/name */
  forget(watcher: string): void {
    this.#sources.forget(watcher);
  }

  async #read(
    question: Exclude<Need, 'watcher'>,
    watcher: ConfigWatcher,
    observed: Observed,
    options: ReadOptions,
  ): Promise<Partial<Observed>> {
    const { spec } = observed;
    const { signal } = options;
    if ('invalid' in spec) return {};
    switch (question) {
      case 'contents':
        return { sources: await this.#readSources(watcher, observed, { ...options, afresh: true }) };
      case 'pods':
        return { pods: await this.#listPods(watcher, observed, spec, signal) };
      case 'formerPods':
        return this.#listFormerPods(watcher, observed, spec, signal);
      case 'owners':
        return { owners: await this.#readOwners(observed, spec, observed.pods ?? [], signal) };
    }
  }

  #readOwners(
    { group, namespace, name, memory, state }: Observed,
    { selector }: WatcherSpec,
    pods: readonly Pick<PodFacts, 'controller'>[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, OwnerFacts>> {
    return this.#owners.read({
      ...{ namespace, pods, selector, signal },
      places: state.pending?.owners ?? [],
      changedAt: state.lastChange ?? Number.NEGATIVE_INFINITY,
      annotation: rolloutAnnotation(group, name),
      now: this.now(),
      notBefore: outdatedOwners(memory),
      annotated: annotatedOwners(state),
    });
  }

  async #readSources(
    { metadata }: ConfigWatcher,
    { namespace, spec, state }: Observed,
    options: ReadOptions & Pick<ReadRequest, 'afresh'>,
  ): Promise<readonly SourceContent[]> {
    if ('invalid' in spec) return [];
    return this.#sources.read({
      namespace,
      watcher: `${namespace}/${metadata.name}`,
      uid: metadata.uid ?? '',
      sources: spec.sources,
      applied: state.sources,
      lastChange: state.lastChange,
      restartOnDelete: spec.restartOnDelete,
      ...options,
    });
  }

  /** Where a restart can follow at once, the owners that the watch knows are read meanwhile; OwnerReader keeps them. */
  async #listPods(
    watcher: ConfigWatcher,
    observed: Observed,
    spec: WatcherSpec,
    signal: AbortSignal,
  ): Promise<PodFacts[]> {
    const listed = this.#pods.selected(watcher, spec, observed.sources, signal);
    const [selected] = await Promise.all([listed, this.#readOwnersAhead(watcher, observed, spec, signal)]);
    return selected;
  }

  async #listFormerPods(
    watcher: ConfigWatcher,
    { state, sources }: Observed,
    spec: WatcherSpec,
    signal: AbortSignal,
  ): Promise<Pick<Observed, 'formerPods'>> {
    const { podSelector } = state.pending ?? {};
    if (podSelector === undefined) return {};
    return { formerPods: await this.#pods.former(watcher, spec, podSelector, sources, signal) };
  }

  async #readOwnersAhead(
    watcher: ConfigWatcher,
    observed: Observed,
    spec: WatcherSpec,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#options.mayRestartNow(spec, observed.state, observed.now)) return;
    const references = this.#selectedPods(watcher, spec).map((pod) => {
      const controller = controllerOf(pod);
      return controller ? { controller } : {};
    });
    // What fails is asked for again, when a decision turns on it.
    await this.#readOwners(observed, spec, references, signal).catch(() => {});
  }

  /** As the watch knows them, with those that terminate: a list has them, too. */
  #selectedPods(watcher: ConfigWatcher, { selector }: WatcherSpec): readonly KubernetesObject[] {
    const selected = this.#options.pods
      .list(watcher.metadata.namespace)
      .filter(({ metadata }) => selects(selector, metadata.labels));
    return ofOwnWorkload(watcher, selected);
  }

  #watchedPods(
    watcher: ConfigWatcher,
    spec: WatcherSpec | InvalidSpec,
  ): Pick<Observed, 'matchedPods' | 'oldestPod'> {
    const selected = 'invalid' in spec ? [] : this.#selectedPods(watcher, spec);
    const live = selected.filter(({ metadata }) => !metadata.deletionTimestamp);
    const created = live.map(({ metadata }) => parseTime(metadata.creationTimestamp ?? ''));
    const oldest = created.reduce((first, one) => Math.min(first, one), Number.POSITIVE_INFINITY);
    return { matchedPods: live.length, ...(Number.isFinite(oldest) && { oldestPod: oldest }) };
  }
}

/**
 * The restart, by uid of each owner whose template was changed for it, as status says, which does not say that a user has
 * taken that back.
 */
function annotatedOwners({ pending, lastRestart }: WatcherState): ReadonlyMap<string, string> {
  const { owners = [], revertedOwners = [] } = pending ?? {};
  const changed = owners.filter(
    ({ uid, templateChanged }) => templateChanged && !revertedOwners.includes(uid),
  );
  return new Map(changed.map(({ uid }) => [uid, lastRestart?.id ?? '']));
}

/** What this process wrote to, or could not write to, is read again: the one after that, the other before. */
function outdatedOwners({ patched, restored, refusals }: RestartMemory): Map<string, number> {
  const refused = [...refusals].map(([uid, { retryAt }]) => [uid, retryAt] as const);
  return new Map([...patched, ...restored, ...refused]);
}
