/** Watchers: the ConfigWatchers of a history, the changes of what they watch, and what they have recorded of them. */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { contentOf, type SourceRef } from './content.ts';
import type { ChangeEntry } from './entry.ts';
import type { Objects } from './objects.ts';
import { isFor, selects, sourcesOf } from './selector.ts';

/** Until it is recorded, it is that of the edit of the spec. */
interface Baseline {
  readonly time: number;
  readonly content: string;
  /** The generation of the spec that asks for it, where it is not recorded yet. */
  readonly generation?: number;
}

export interface WatcherRun {
  readonly uid: string;
  watcher: ConfigWatcher;
  readonly createdAt: number;
  goneAt: number | undefined;
  /** It is a ConfigMap that names its Pods itself. */
  readonly annotated: boolean;
  /** Specs of the last minutes, the present one last. */
  readonly specs: { readonly spec: ConfigWatcher['spec']; until: number }[];
  /** When the first content was recorded, so that there is something to compare with. */
  baselineAt: number | undefined;
  /** When each source was there for the first time in the watcher's life, by kind and name. */
  readonly firstSights: Map<string, number>;
  /** When a source was made last. */
  restoredAt: number;
  /**
   * What counted of each source when it was recorded first: with its keys, since they were edited, or it was added, while
   * nothing was pending.
   */
  readonly baselines: Map<string, Baseline>;
  /** What counts of all sources, now. */
  content: string;
  /** The same when the status last said that everything is applied. */
  settledContent: string;
  /** When the operator recorded that content as another one than before. */
  settledRaisedAt: number;
  /** When the content came back to that, before the operator recorded another one: nothing is owed then. */
  revertedAt: number;
  /** When that changed; those before the baseline are dropped. */
  changes: number[];
  /** What counted of a source when it was deleted, by kind and name. */
  readonly deletions: Map<string, { readonly time: number; readonly content: string }>;
  /** What counted of a source when the watcher was edited so that it is none any more, by kind and name. */
  readonly takenOut: Map<string, string>;
  /** Those of the changes that were no edit: a deletion, and the source made again with the same content. */
  undone: number[];
  /** When a source was edited so that nothing changed that counts. */
  idleEditAt: number | undefined;
  /** When the operator recorded a change: `pending` began, or got another hash or cutoff. */
  raises: { readonly time: number; readonly hash: string; readonly cutoff: number }[];
  /** How many raises there ever were, and how many changes. */
  raiseCount: number;
  changeCount: number;
  /**
   * When a source got other keys while a change of it was owed, or was edited under the keys of before where these may not
   * have reached a replica, or was edited while it was out and put back before that was recorded: whether what counts now
   * has changed cannot be known.
   */
  rekeyedAt: number | undefined;
  /** The same of a change that the operator has recorded for that reason. */
  presumedAt: number | undefined;
  /** When all was applied last: `pending` was cleared, or a change applied at once because no Pod matched. */
  appliedAt: number | undefined;
  /** When the status was written last by a client that is no replica. */
  forgedAt: number | undefined;
}

/**
 * An edit of a watcher, or its deletion, may not have reached the sender for so long, in milliseconds: a watch is relied on
 * for 90 s without a sign of life, and then there is the write itself.
 */
export const editUnseenFor = 100_000;
/** In milliseconds. */
const rememberedFor = 15 * 60_000;
const keptChanges = 100;

export class Watchers {
  readonly byUid = new Map<string, WatcherRun>();
  readonly #objects: Objects;

  constructor(objects: Objects) {
    this.#objects = objects;
  }

  change(entry: ChangeEntry): void {
    if (entry.resource === 'configwatchers') this.#watcher(entry);
    else if (entry.resource === 'configmaps' || entry.resource === 'secrets') this.#source(entry);
    if (entry.resource !== 'configmaps') return;
    const [object, previous] = [annotatedWatcher(entry.object), annotatedWatcher(entry.previous)];
    if (object !== undefined) this.#watcher({ ...entry, object, previous });
    else if (previous !== undefined)
      this.#watcher({ ...entry, change: 'DELETED', object: previous, previous });
  }

  /** All that select the Pod, or did within the last `within` milliseconds. */
  selecting(pod: Pod, now: number, within: number): WatcherRun[] {
    return [...this.byUid.values()].filter(({ watcher, goneAt, specs }) => {
      if (watcher.metadata.namespace !== pod.metadata.namespace) return false;
      if (goneAt !== undefined && now - goneAt > within) return false;
      return isFor(watcher, pod) && specsWithin(specs, now, within).some((spec) => selects(spec, pod));
    });
  }

  #watcher(entry: ChangeEntry): void {
    const watcher = entry.object as ConfigWatcher;
    const uid = watcher.metadata.uid ?? '';
    const run = this.byUid.get(uid);
    if (run === undefined) {
      this.#add(watcher, entry.time);
      return;
    }
    const { time, change, previous, by } = entry;
    if (change === 'DELETED') {
      run.goneAt = time;
      this.#prune(time);
      return;
    }
    if (watcher.metadata.generation !== previous?.metadata.generation) this.#editSpec(run, watcher, time);
    const before = (previous as ConfigWatcher | undefined)?.status;
    if (JSON.stringify(before) !== JSON.stringify(watcher.status)) {
      if (by !== undefined && by.replica === undefined) run.forgedAt = time;
      else recordStatus(run, before, watcher.status, time);
    }
    run.watcher = watcher;
    this.#recordBaselines(run, time);
  }

  #add(watcher: ConfigWatcher, time: number): void {
    const run: WatcherRun = {
      ...{ uid: watcher.metadata.uid ?? '', watcher, createdAt: time, goneAt: undefined },
      annotated: isAnnotated(watcher),
      specs: [{ spec: watcher.spec, until: Number.POSITIVE_INFINITY }],
      ...{
        baselineAt: undefined,
        firstSights: new Map(),
        baselines: new Map(),
        content: '',
        settledContent: '',
        settledRaisedAt: 0,
        revertedAt: 0,
        restoredAt: 0,
        changes: [],
        deletions: new Map(),
        takenOut: new Map(),
        undone: [],
        idleEditAt: undefined,
        rekeyedAt: undefined,
        presumedAt: undefined,
        raises: [],
      },
      ...{ raiseCount: 0, changeCount: 0, appliedAt: undefined, forgedAt: undefined },
    };
    run.content = this.contentFor(run);
    run.settledContent = run.content;
    this.#sight(run, time);
    this.#baseline(run, time);
    this.byUid.set(run.uid, run);
  }

  /** What runs an older content of a source than it has at first sight is not to be restarted. */
  #baseline({ watcher: { metadata, spec }, baselines }: WatcherRun, time: number): void {
    const { namespace = '', generation = 1 } = metadata;
    for (const source of sourcesOf(spec)) {
      const content = contentOf(source, this.source(source.kind, namespace, source.name));
      baselines.set(`${source.kind}/${source.name}`, { time, content, generation });
    }
  }

  #sight({ watcher: { metadata, spec }, firstSights }: WatcherRun, time: number): void {
    for (const { kind, name } of sourcesOf(spec)) {
      const key = `${kind}/${name}`;
      const isThere = this.source(kind, metadata.namespace ?? '', name) !== undefined;
      if (isThere && !firstSights.has(key)) firstSights.set(key, time);
    }
  }

  #editSpec(run: WatcherRun, watcher: ConfigWatcher, time: number): void {
    const last = run.specs.at(-1);
    if (last !== undefined) last.until = time;
    run.specs.push({ spec: watcher.spec, until: Number.POSITIVE_INFINITY });
    if (run.specs.length > 5) run.specs.shift();
    this.#rebase(run, watcher, time);
    run.watcher = watcher;
    // Other keys or sources are another baseline, not another content.
    run.content = this.contentFor(run);
    this.#sight(run, time);
  }

  /** Of a source with other keys, first sight is the baseline again, unless a change of it is owed. */
  #rebase(run: WatcherRun, { metadata, spec }: ConfigWatcher, time: number): void {
    const { watcher: before, baselines } = run;
    const known = sourcesOf(before.spec);
    const contentNow = (source: SourceRef) =>
      contentOf(source, this.source(source.kind, metadata.namespace ?? '', source.name));
    for (const source of known.filter((one) => !isAmong(sourcesOf(spec), one))) {
      run.takenOut.set(`${source.kind}/${source.name}`, contentNow(source));
    }
    const owed = (before.status?.sources ?? []).filter(({ pendingHash }) => pendingHash !== undefined);
    for (const source of sourcesOf(spec)) {
      const { kind, name, keys } = source;
      if (known.some((one) => one.kind === kind && one.name === name && isDeepStrictEqual(one.keys, keys)))
        continue;
      if (isAmong(owed, source)) {
        run.rekeyedAt = time;
        continue;
      }
      const content = contentNow(source);
      const { generation = 0 } = metadata;
      // Edited while it was out, and put back before a replica has recorded that: one that never saw it out compares as ever.
      const isUnrecorded = !isAmong(known, source) && isAmong(before.status?.sources ?? [], source);
      if (isUnrecorded && run.takenOut.get(`${kind}/${name}`) !== content) run.rekeyedAt = time;
      baselines.set(`${kind}/${name}`, { time, content, generation });
    }
  }

  /** An operator that can read nothing or write no status for a time has its baselines from the time when it can. */
  #recordBaselines({ watcher: { metadata, spec, status }, baselines }: WatcherRun, time: number): void {
    for (const source of sourcesOf(spec)) {
      const key = `${source.kind}/${source.name}`;
      const { generation } = baselines.get(key) ?? {};
      if (generation === undefined || (status?.observedGeneration ?? 0) < generation) continue;
      if (findCondition(status?.conditions, 'Ready')?.reason === 'Forbidden') continue;
      const present = this.source(source.kind, metadata.namespace ?? '', source.name);
      if (present === undefined && !source.optional) continue;
      baselines.set(key, { time, content: contentOf(source, present) });
    }
  }

  #source(entry: ChangeEntry): void {
    const kind = entry.resource === 'secrets' ? 'Secret' : 'ConfigMap';
    const { namespace, name } = entry.object.metadata;
    const near = [...this.byUid.values()].filter(
      ({ goneAt, watcher }) => goneAt === undefined && watcher.metadata.namespace === namespace,
    );
    for (const run of near) {
      const source = sourcesOf(run.watcher.spec).find((one) => one.kind === kind && one.name === name);
      if (source !== undefined) this.#sourceOf(run, source, entry);
    }
  }

  #sourceOf(run: WatcherRun, source: SourceRef, { object, previous, change, time }: ChangeEntry): void {
    const isFirstSight = !source.optional && !run.firstSights.has(`${source.kind}/${source.name}`);
    this.#sight(run, time);
    if (change === 'ADDED') run.restoredAt = time;
    this.#undo(run, source, { object, change, time });
    const counts = (keys: SourceRef) =>
      contentOf(keys, change === 'DELETED' ? undefined : object) !==
      contentOf(keys, change === 'ADDED' ? undefined : previous);
    if (counts(source)) {
      if (isFirstSight) this.#sighted(run);
      else this.#changed(run, time);
      return;
    }
    run.idleEditAt = time;
    if (withinSpecs(run, source, time).some(counts)) run.rekeyedAt = time;
  }

  #undo(
    { deletions, undone, watcher }: WatcherRun,
    source: SourceRef,
    { object, change, time }: Pick<ChangeEntry, 'object' | 'change' | 'time'>,
  ): void {
    const key = `${source.kind}/${source.name}`;
    const content = contentOf(source, object);
    if (change === 'DELETED') deletions.set(key, { time, content });
    const deletion = deletions.get(key);
    if (change !== 'ADDED' || deletion?.content !== content || watcher.spec.onDelete === 'Restart') return;
    undone.push(deletion.time, time);
    if (undone.length > keptChanges) undone.splice(0, 2);
  }

  /** Another baseline, not another content. */
  #sighted(run: WatcherRun): void {
    run.content = this.contentFor(run);
    if (run.watcher.status?.pending === undefined) run.settledContent = run.content;
  }

  #changed(run: WatcherRun, time: number): void {
    run.content = this.contentFor(run);
    const isSettled = run.watcher.status?.pending === undefined;
    if (isSettled && run.content === run.settledContent) run.revertedAt = time;
    run.changes.push(time);
    run.changeCount += 1;
    if (run.changes.length > keptChanges) run.changes.shift();
  }

  /** What counts of all of its sources, as etcd holds them. */
  contentFor({ watcher: { metadata, spec } }: Pick<WatcherRun, 'watcher'>): string {
    return sourcesOf(spec)
      .map((source) => contentOf(source, this.source(source.kind, metadata.namespace ?? '', source.name)))
      .join();
  }

  source(kind: string, namespace: string, name: string): KubernetesObject | undefined {
    return this.#objects.get(kind === 'Secret' ? 'secrets' : 'configmaps', namespace, name);
  }

  #prune(now: number): void {
    for (const [uid, { goneAt }] of this.byUid) {
      if (goneAt !== undefined && now - goneAt > rememberedFor) this.byUid.delete(uid);
    }
  }
}

/**
 * Whether the watcher has selected the Pod since the last change: an edit of the selector alone restarts nothing, nor does
 * a content that comes back, for Pods that were not selected when it came first.
 */
export function wasSelected(run: WatcherRun, pod: Pod): boolean {
  const { watcher, specs, changes, content, settledContent, settledRaisedAt } = run;
  const changedAt = changes.at(-1) ?? 0;
  const last = content === settledContent ? Math.min(changedAt, settledRaisedAt) : changedAt;
  const since = specs.filter(({ until }) => until > last);
  return isFor(watcher, pod) && since.every(({ spec }) => selects(spec, pod));
}

type SourceName = Pick<SourceRef, 'kind' | 'name'>;

function isAmong(sources: readonly SourceName[], { kind, name }: SourceName): boolean {
  return sources.some((one) => one.kind === kind && one.name === name);
}

const ofItself = ' as its own watcher';

function isAnnotated({ metadata: { uid = '' } }: ConfigWatcher): boolean {
  return uid.endsWith(ofItself);
}

/** A ConfigMap that names its Pods itself, as the watcher that it is. */
function annotatedWatcher(configMap: KubernetesObject | undefined): ConfigWatcher | undefined {
  const { annotations = {}, name = '', namespace = '', uid = '' } = configMap?.metadata ?? {};
  const selector = annotations['k8spatterns.io/podDeleteSelector'];
  if (selector === undefined) return undefined;
  const podSelector = Object.fromEntries(selector.split(',').map((label) => label.split('=')));
  return {
    ...{ apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher' },
    metadata: { name, namespace, uid: `${uid}${ofItself}`, generation: 1 },
    spec: { configMap: name, podSelector, strategy: { type: 'Delete' } },
    status: JSON.parse(annotations['k8spatterns.io/observed'] ?? '{}'),
  };
}

/** All is applied. */
function settle(run: WatcherRun, time: number): void {
  const { content, settledContent, raises } = run;
  if (settledContent !== content) run.settledRaisedAt = raises.at(-1)?.time ?? 0;
  run.appliedAt = time;
  run.settledContent = content;
}

function recordStatus(
  run: WatcherRun,
  before: ConfigWatcher['status'],
  after: ConfigWatcher['status'],
  time: number,
): void {
  const [old, pending] = [before?.pending, after?.pending];
  if (before?.appliedHash === undefined && after?.appliedHash !== undefined && run.baselineAt === undefined) {
    run.baselineAt = time;
    run.settledContent = run.content;
  }
  const isApplied = old !== undefined || before?.appliedHash !== after?.appliedHash;
  if (pending === undefined) {
    if (isApplied) settle(run, time);
    return;
  }
  // What two replicas know of the server's time differs, and may be the same millisecond for two changes.
  const isOther = old?.hash !== pending.hash && old?.since !== pending.since;
  if (old !== undefined && before?.lastChangeTime === after?.lastChangeTime && !isOther) return;
  // An edit of the spec raises the cutoff, too: for the Pods that it may add.
  run.raises.push({ time, hash: pending.hash ?? '', cutoff: Date.parse(pending.cutoff ?? '') || 0 });
  run.raiseCount += 1;
  if (run.raiseCount > run.changeCount && run.rekeyedAt !== undefined) {
    run.changeCount += 1;
    run.presumedAt = run.rekeyedAt;
    run.rekeyedAt = undefined;
  }
  if (run.raises.length > keptChanges) run.raises.shift();
}

/** The same source with the keys that a replica may take to be in force. */
function withinSpecs({ specs }: WatcherRun, { kind, name }: SourceRef, now: number): SourceRef[] {
  return specsWithin(specs, now, editUnseenFor)
    .flatMap(sourcesOf)
    .filter((one) => one.kind === kind && one.name === name);
}

/** Those that are in force, or were within the last `within` milliseconds: a sender may know of none that is newer. */
export function specsWithin(
  specs: WatcherRun['specs'],
  now: number,
  within: number,
): ConfigWatcher['spec'][] {
  return specs.filter(({ until }) => now - until <= within).map(({ spec }) => spec);
}
