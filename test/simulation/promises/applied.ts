/** R3: once a content is said to be applied, every Pod that may be restarted runs it. */
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import {
  type ConfigMap,
  controllerOf,
  type KubernetesObject,
  type Pod,
} from '../../../src/kubernetes/objects.ts';
import { contentOf, type SourceRef } from '../content.ts';
import type { ChangeEntry, ContainerStartEntry } from '../entry.ts';
import { among, type Found, type History, kept, type NamedPromise } from '../history.ts';
import { sourcesOf } from '../selector.ts';
import { type WatcherRun, wasSelected } from '../watchers.ts';
import { hasWorked, isHeldBySpec, settling } from './liveness.ts';
import { Looks } from './looks.ts';

/** So long after everything has become quiet no retry is left, which are up to a minute apart; in milliseconds. */
const watcherSettling = 90_000;

interface Held {
  readonly kind: string;
  readonly name: string;
  readonly object: KubernetesObject | undefined;
}

function keyOf(kind: string, namespace: string | undefined, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

/** Content that the present container of each Pod was started with. */
class Running {
  /** Sources that have been immutable. */
  readonly #immutable = new Set<string>();
  readonly #byPod = new Map<string, { entry: ContainerStartEntry; held: readonly Held[] }>();

  /** A node may go on giving an immutable object to new Pods when another one has taken its place. */
  shown({ resource, object }: ChangeEntry): void {
    if ((object as ConfigMap).immutable !== true) return;
    const { namespace, name } = object.metadata;
    this.#immutable.add(keyOf(resource === 'secrets' ? 'Secret' : 'ConfigMap', namespace, name));
  }

  started(entry: ContainerStartEntry): void {
    const held = entry.sources.map(({ kind, name, data }) => ({
      ...{ kind, name },
      object: data && { metadata: { name }, data },
    }));
    this.#byPod.set(entry.podUid, { entry, held });
  }

  gone(uid: string): void {
    this.#byPod.delete(uid);
  }

  /** When the Pod was started, if that was with another content of a watched source than there is now. */
  outdatedSince(history: History, run: WatcherRun, uid: string): number | undefined {
    const { metadata, spec } = run.watcher;
    const started = this.#byPod.get(uid);
    if (started === undefined) return undefined;
    const { entry, held } = started;
    const isOutdated = sourcesOf(spec).some((source) => {
      const mounted = held.find(({ kind, name }) => kind === source.kind && name === source.name);
      if (mounted === undefined) return false;
      const present = history.watchers.source(source.kind, metadata.namespace ?? '', source.name);
      if (contentOf(source, mounted.object) === contentOf(source, present)) return false;
      if (present === undefined && spec.onDelete !== 'Restart') return false;
      if (this.#immutable.has(keyOf(source.kind, metadata.namespace, source.name))) return false;
      // While a required source is missing no Pod is expected to start, and the old content counts.
      const isUnexpected = !source.optional && spec.onDelete !== 'Restart' && mounted.object === undefined;
      return !isUnexpected && !isBaseline(run, source, entry, present);
    });
    return isOutdated ? entry.time : undefined;
  }
}

/**
 * First sight is the baseline, also of a required source that was missing when the others were seen first, and of one
 * whose keys were edited.
 */
function isBaseline(
  { baselineAt = 0, firstSights, baselines }: WatcherRun,
  source: SourceRef,
  { time }: ContainerStartEntry,
  present: KubernetesObject | undefined,
): boolean {
  const { kind, name, optional } = source;
  const rebased = baselines.get(`${kind}/${name}`);
  if (rebased && time < rebased.time && rebased.content === contentOf(source, present)) return true;
  const madeAt = Date.parse(present?.metadata.creationTimestamp ?? '');
  if (time < baselineAt && madeAt > baselineAt) return true;
  const seenAt = firstSights.get(`${kind}/${name}`) ?? Number.POSITIVE_INFINITY;
  return !optional && time < seenAt;
}

/** Pods that a watcher may restart, and has to. */
export function isRestartable({ strategy }: ConfigWatcher['spec'], pod: Pod): boolean {
  const kind = controllerOf(pod)?.kind;
  const { deletionTimestamp } = pod.metadata;
  const phase = pod.status?.phase;
  if (deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed') return false;
  if ((pod.spec.restartPolicy ?? 'Always') !== 'Always') return false;
  if (kind === undefined) return strategy?.unmanagedPods === 'Delete';
  return kind === 'Job' ? strategy?.jobPods === 'Delete' : kind !== 'At';
}

/** What keeps a watcher from acting, by its own spec. */
function mayWait(watcher: ConfigWatcher): boolean {
  const { status } = watcher;
  return (
    isHeldBySpec(watcher) ||
    status?.pending !== undefined ||
    // Nothing is restarted while a required source is missing: new Pods could not start.
    findCondition(status?.conditions, 'SourceAvailable')?.status === 'False'
  );
}

/** Whether every Pod of the watcher should run the present content by now. */
function isOwed(
  { time }: History,
  { watcher, goneAt, forgedAt, changes, createdAt, baselineAt }: WatcherRun,
): boolean {
  const changedAt = changes.at(-1) ?? 0;
  if (goneAt !== undefined || forgedAt !== undefined || mayWait(watcher)) return false;
  return (
    time - Math.max(changedAt, createdAt) >= settling && baselineAt !== undefined && changedAt > baselineAt
  );
}

function podsOf({ objects }: History, run: WatcherRun): Pod[] {
  const { metadata, spec } = run.watcher;
  return objects
    .in<Pod>('pods', metadata.namespace ?? '')
    .filter((pod) => wasSelected(run, pod) && isRestartable(spec, pod));
}

/** Resources of whose objects a verdict follows. */
const judged: ReadonlySet<string> = new Set(['pods', 'configmaps', 'secrets', 'configwatchers']);

export const appliedRunsEverywhere: NamedPromise = {
  name: 'R3',
  sentence:
    'no Pod that the spec allows to restart runs an old content once status says that the content is applied',
  start(history) {
    const running = new Running();
    const looks = new Looks(history);
    /** Grows with all that a verdict follows from. */
    let version = 0;
    /** Of the watchers all of whose Pods run the present content, which is so until something changes. */
    const verdicts = new WeakMap<WatcherRun, { readonly version: number; readonly found: Found }>();
    const judge = (run: WatcherRun): Found => {
      const verdict = verdicts.get(run);
      if (verdict?.version === version) return verdict.found;
      const pods = podsOf(history, run);
      const outdated = pods.flatMap((pod) => {
        const start = running.outdatedSince(history, run, pod.metadata.uid ?? '');
        return start === undefined ? [] : [{ pod, start }];
      });
      const found = pods.length === 0 ? undefined : kept;
      if (outdated.length === 0) verdicts.set(run, { version, found });
      return outdated.length === 0
        ? found
        : among(outdated, ({ pod, start }) => judgeOutdated(run, pod, start));
    };
    const judgeOutdated = (run: WatcherRun, pod: Pod, start: number): Found => {
      const isBetween = startedBetween(run, start);
      if (isBetween && !looks.isSeen(run, start)) return kept;
      const text = `${run.watcher.metadata.name} has applied everything, and ${pod.metadata.name} runs an old content`;
      return { text, clue: isBetween ? 'started between' : 'old content' };
    };
    return {
      request(request) {
        looks.request(request);
        return undefined;
      },
      seen(entry) {
        looks.seen(entry);
        return undefined;
      },
      'container-start'(entry) {
        running.started(entry);
        version++;
        return undefined;
      },
      change(entry) {
        const { resource, change, object } = entry;
        running.shown(entry);
        if (resource === 'pods' && change === 'DELETED') running.gone(object.metadata.uid ?? '');
        if (judged.has(resource)) version++;
        return undefined;
      },
      calm() {
        if (!hasWorked(history, watcherSettling)) return undefined;
        return among(history.watchers.byUid.values(), (run) =>
          isOwed(history, run) ? judge(run) : undefined,
        );
      },
    };
  },
};

/** Whether a container was started between two changes that may have cancelled each other out. */
function startedBetween({ changes, baselineAt = 0 }: WatcherRun, start: number): boolean {
  return (
    changes.some((change) => change > baselineAt && change <= start) &&
    changes.some((change) => change > start)
  );
}
