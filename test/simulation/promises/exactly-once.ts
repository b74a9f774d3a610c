/** S16 and L7: what ExactlyOnce promises beside S1, and that nothing stays held. */
import type { At } from '../../../src/api/at.generated.ts';
import { controllerOf, type Pod } from '../../../src/kubernetes/objects.ts';
import type { ChangeEntry, ContainerStartEntry } from '../entry.ts';
import { among, type Found, type History, kept, type NamedPromise } from '../history.ts';
import { type AtRun, isGated, mainContainerOf, type RunPod, uidLabel } from '../runs.ts';
import { hasWorked, settling } from './liveness.ts';

const finalizer = 'cnat.programming-kubernetes.info/tracked';
/** The right to take a finalizer off may have been gone, and the slowest retry is over by then, in milliseconds. */
const heldFor = 2 * settling;

export function isHeld(pod: Pod | undefined): boolean {
  return pod?.metadata.finalizers?.includes(finalizer) ?? false;
}

/** The uids of the Pods that the statuses of Ats have recorded. */
class Recorded {
  readonly #uids = new Set<string>();

  at({ status }: At): void {
    if (status?.podUID !== undefined) this.#uids.add(status.podUID);
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}

function isForged(run: AtRun | undefined): boolean {
  return run === undefined || run.forgedAt !== undefined;
}

/** The attempt was lost, and another one is to follow. */
function isInHistory({ status }: At, uid: string): boolean {
  return status?.history?.some(({ podUID }) => podUID === uid) ?? false;
}

/** A Pod of ExactlyOnce starts its command. */
function startedWrongly(
  history: History,
  recorded: Recorded,
  { podUid, container }: ContainerStartEntry,
): Found {
  const [pod, run] = [history.runs.pod(podUid), history.runs.ofPod(podUid)];
  if (pod === undefined || run === undefined || isForged(run) || !isGated(pod.created)) return undefined;
  if (container !== mainContainerOf(pod.pod)) return undefined;
  if (!recorded.has(podUid)) return { text: `${pod.name} runs and was not recorded`, clue: 'unrecorded' };
  const other = run.pods.find((one) => one !== pod && one.attempt === pod.attempt && one.starts.length > 0);
  return other === undefined
    ? kept
    : { text: `${pod.name} runs, and another Pod of its attempt did`, clue: 'twice' };
}

/** A replica has removed the gate or the finalizer of a Pod. */
function changedWrongly(history: History, recorded: Recorded, entry: ChangeEntry): Found {
  const { change, object, previous, by } = entry;
  const pod = object as Pod;
  const { uid = '', name } = pod.metadata;
  if (by?.replica === undefined || change === 'ADDED') return undefined;
  const isReleased = change === 'MODIFIED' && isGated(previous as Pod | undefined) && !isGated(pod);
  if (isReleased && !recorded.has(uid)) {
    return { text: `${name} was released and not recorded`, clue: 'released' };
  }
  const isLetGo = isHeld(previous as Pod | undefined) && (change === 'DELETED' || !isHeld(pod));
  return isLetGo ? letGoTooSoon(history.runs.ofPod(uid), history.runs.pod(uid)) : undefined;
}

function letGoTooSoon(run: AtRun | undefined, pod: RunPod | undefined): Found {
  if (run === undefined || pod === undefined || isForged(run)) return undefined;
  const { status, metadata } = run.at;
  const isOver =
    run.goneAt !== undefined || metadata.deletionTimestamp !== undefined || isInHistory(run.at, pod.uid);
  return !isOver && status?.phase === 'RUNNING' && status.podUID === pod.uid
    ? { text: `${pod.name} was let go before its end was recorded`, clue: 'let go' }
    : kept;
}

export const exactlyOnce: NamedPromise = {
  name: 'S16',
  sentence:
    'under ExactlyOnce only the recorded Pod of an attempt runs, once, and it is held until its end is recorded',
  start(history) {
    const recorded = new Recorded();
    return {
      change(entry) {
        if (entry.resource === 'ats') recorded.at(entry.object as At);
        return entry.resource === 'pods' ? changedWrongly(history, recorded, entry) : undefined;
      },
      'container-start': (entry) => startedWrongly(history, recorded, entry),
    };
  },
};

export const nothingIsHeld: NamedPromise = {
  name: 'L7',
  sentence: 'a recorded Pod is released, and a Pod whose end is recorded, or whose At is gone, is let go',
  start: (history) => ({
    calm() {
      if (!hasWorked(history, heldFor)) return undefined;
      return among(history.runs.byUid.values(), (run) =>
        among(run.pods, (pod) => (pod.goneAt === undefined ? stuck(history, run, pod) : undefined)),
      );
    },
  }),
};

function timeOf(text = ''): number {
  return Date.parse(text) || 0;
}

/**
 * It names its At neither as its owner nor by its label. By the label it is watched; without it, only the At leads to its
 * Pod, and where that is gone, too, `atwatch release-pods` lets it go.
 */
function isNobodys({ uid, goneAt }: AtRun, pod: Pod): boolean {
  const isFoundByAt = goneAt === undefined && controllerOf(pod)?.uid === uid;
  return !isFoundByAt && pod.metadata.labels?.[uidLabel] !== uid;
}

/** Whether nothing but a person can let it go, so that its namespace stays. */
export function mayStayHeld({ runs }: History, pod: Pod): boolean {
  const isIts = ({ pods }: AtRun) => pods.some(({ uid }) => uid === pod.metadata.uid);
  const run = [...runs.byUid.values()].find(isIts);
  return run !== undefined && (isNobodys(run, pod) || isForged(run));
}

function stuck(history: History, run: AtRun, { created, pod, name, uid, endedAt }: RunPod): Found {
  const { status, metadata } = run.at;
  if ((!isGated(created) && !isHeld(created)) || isNobodys(run, pod)) return undefined;
  if (isForged(run) || history.time - Math.max(history.disturbedAt, run.editedAt) < heldFor) return undefined;
  const isGone = run.goneAt !== undefined || metadata.deletionTimestamp !== undefined;
  const isOver = isGone || status?.phase === 'DONE' || isInHistory(run.at, uid);
  // A Pod that never ran has no end of its own, and goes where another attempt follows.
  const [doneAt, deletedAt] = [status?.completionTime, pod.metadata.deletionTimestamp].map(timeOf);
  const overSince = Math.max(run.goneAt ?? 0, endedAt ?? 0, doneAt ?? 0, deletedAt ?? 0);
  if (isOver && isHeld(pod) && history.time - overSince > heldFor) {
    return { text: `${name} is held, and ${metadata.name} is over`, clue: 'held' };
  }
  return !isOver && isGated(pod) && status?.podUID === uid
    ? { text: `${name} is recorded and gated`, clue: 'gated' }
    : kept;
}
