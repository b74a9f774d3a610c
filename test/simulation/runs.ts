/** Runs: the Ats of a history, the Pods that were made for each of them, and how these ended. */
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { controllerOf, type Pod } from '../../src/kubernetes/objects.ts';
import type { ChangeEntry, EntryOf } from './entry.ts';

export interface RunEnd {
  readonly container: string;
  readonly exitCode: number;
  readonly time: number;
}

export interface RunPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** By its name, counted from 1. */
  readonly attempt: number;
  /** As it was created. */
  readonly created: Pod;
  readonly createdAt: number;
  /** The last state of it. */
  pod: Pod;
  /** When it was asked to go. */
  deletedAt: number | undefined;
  goneAt: number | undefined;
  /** When its phase became Succeeded or Failed. */
  endedAt: number | undefined;
  readonly starts: { readonly container: string; readonly time: number }[];
  readonly ends: RunEnd[];
  /** Exit codes of its main container that etcd ever showed. */
  readonly shownExits: Set<number>;
  /** When etcd showed first that it succeeded. */
  succeededAt: number | undefined;
  /** When the operator wrote on it that it is to stop, and why. */
  stop: { readonly time: number; readonly reason: string } | undefined;
  readonly createdBy: ChangeEntry['by'];
}

export interface AtRun {
  readonly uid: string;
  at: At;
  readonly createdAt: number;
  goneAt: number | undefined;
  /** When the spec was edited last. */
  editedAt: number;
  /** When the status was written last by a client that is no replica. */
  forgedAt: number | undefined;
  /** All there ever were, in the order of their creation. */
  readonly pods: RunPod[];
}

/** So long a deleted At is remembered, for what a stale replica may still do, in milliseconds. */
const rememberedFor = 15 * 60_000;
const podName = /^(.*)-pod(?:-(\d+))?$/;

/** Counted from 1; undefined for a name that no Pod of this At has. */
export function attemptOf(name: string): number {
  return Number(podName.exec(name)?.[2] ?? 1);
}

export class Runs {
  readonly byUid = new Map<string, AtRun>();
  readonly #pods = new Map<string, { readonly pod: RunPod; readonly run: AtRun | undefined }>();
  #prunedAt = 0;

  /** The Pod with that uid, when it was made for an At. */
  pod(uid: string | undefined): RunPod | undefined {
    return this.#pods.get(uid ?? '')?.pod;
  }

  /** The At that the Pod with that uid was made for. */
  ofPod(uid: string | undefined): AtRun | undefined {
    return this.#pods.get(uid ?? '')?.run;
  }

  change(entry: ChangeEntry): void {
    if (entry.resource === 'ats') this.#at(entry);
    if (entry.resource === 'pods') this.#pod(entry);
    if (entry.time - this.#prunedAt > rememberedFor) this.#prune(entry.time);
  }

  #at({ change, object, previous, time, by }: ChangeEntry): void {
    const at = object as At;
    const uid = at.metadata.uid ?? '';
    const known = this.byUid.get(uid);
    if (known === undefined) {
      const run = {
        uid,
        at,
        createdAt: time,
        goneAt: undefined,
        editedAt: time,
        forgedAt: undefined,
        pods: [],
      };
      this.byUid.set(uid, run);
      return;
    }
    if (change === 'DELETED') known.goneAt = time;
    if (at.metadata.generation !== previous?.metadata.generation) known.editedAt = time;
    const isForged = by !== undefined && by.replica === undefined && isOtherStatus(at, previous as At);
    if (isForged) known.forgedAt = time;
    known.at = at;
  }

  #pod({ change, object, time, by }: ChangeEntry): void {
    const pod = object as Pod;
    const uid = pod.metadata.uid ?? '';
    const known = this.#pods.get(uid)?.pod;
    if (known === undefined) {
      this.#add(pod, time, by);
      return;
    }
    known.pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) known.deletedAt ??= time;
    if (change === 'DELETED') known.goneAt = time;
    const phase = pod.status?.phase;
    if (known.endedAt === undefined && (phase === 'Succeeded' || phase === 'Failed')) known.endedAt = time;
    if (known.succeededAt === undefined && hasSucceeded(pod)) known.succeededAt = time;
    const main = mainContainerOf(pod);
    const status = pod.status?.containerStatuses?.find(({ name }) => name === main);
    for (const state of [status?.state, status?.lastState]) {
      if (state?.terminated !== undefined) known.shownExits.add(state.terminated.exitCode);
    }
    const reason = stopReasonOf(pod);
    if (reason !== undefined && known.stop === undefined) known.stop = { time, reason };
  }

  #add(pod: Pod, time: number, by: ChangeEntry['by']): void {
    const owner = controllerOf(pod);
    if (owner?.kind !== 'At') return;
    const { uid = '', name, namespace = '' } = pod.metadata;
    const run = this.byUid.get(owner.uid);
    const made: RunPod = {
      ...{
        uid,
        name,
        namespace,
        attempt: attemptOf(name),
        created: pod,
        createdAt: time,
        pod,
        createdBy: by,
      },
      ...{ deletedAt: undefined, goneAt: undefined, endedAt: undefined, starts: [], ends: [] },
      ...{ shownExits: new Set<number>(), succeededAt: undefined, stop: undefined },
    };
    run?.pods.push(made);
    this.#pods.set(uid, { pod: made, run });
  }

  started({ podUid, container, time }: EntryOf<'container-start'>): void {
    this.pod(podUid)?.starts.push({ container, time });
  }

  ended({ podUid, container, exitCode, time }: EntryOf<'container-end'>): void {
    this.pod(podUid)?.ends.push({ container, exitCode, time });
  }

  #prune(now: number): void {
    this.#prunedAt = now;
    for (const run of this.byUid.values()) {
      const isOver = run.goneAt !== undefined && now - run.goneAt > rememberedFor;
      if (!isOver || run.pods.some(({ goneAt }) => goneAt === undefined)) continue;
      this.byUid.delete(run.uid);
      for (const { uid } of run.pods) this.#pods.delete(uid);
    }
    for (const [uid, { pod, run }] of this.#pods) {
      if (run === undefined && pod.goneAt !== undefined) this.#pods.delete(uid);
    }
  }
}

function isOtherStatus(at: At, previous: At | undefined): boolean {
  return JSON.stringify(at.status) !== JSON.stringify(previous?.status);
}

/** By which the operator finds the Pods of Ats; its value is the uid of the At. */
export const uidLabel = 'cnat.programming-kubernetes.info/controller-uid';

/** What the operator has written on the Pod of how it was made: the main container, and the limits of the spec then. */
export function madeWith(pod: Pod): Pick<
  AtSpec,
  'activeDeadlineSeconds' | 'backoffLimit' | 'pendingTimeoutSeconds'
> & {
  readonly container?: unknown;
} {
  return JSON.parse(pod.metadata.annotations?.['cnat.programming-kubernetes.info/run'] ?? '{}');
}

/** The main container's name: the operator writes it on the Pod, because admission may put others before it. */
export function mainContainerOf(pod: Pod): string {
  const { container: written } = madeWith(pod);
  const names = pod.spec.containers.map(({ name }) => name);
  return typeof written === 'string' && names.includes(written) ? written : (names[0] ?? '');
}

/** Whether it shows that the command has ended with 0, and was not killed for a deadline, whatever becomes of other containers. */
export function hasSucceeded(pod: Pod): boolean {
  const { phase, containerStatuses = [] } = pod.status ?? {};
  const ended = containerStatuses.filter(({ state }) => state?.terminated?.exitCode === 0);
  if (phase === 'Succeeded' || phase === 'Failed' || ended.length === 0) return phase === 'Succeeded';
  const main = mainContainerOf(pod);
  return ended.some(({ name }) => name === main);
}

/** Why the operator stops the Pod, as it has written on it; undefined for one that it does not stop. */
export function stopReasonOf(pod: Pod | undefined): string | undefined {
  return pod?.metadata.annotations?.['cnat.programming-kubernetes.info/stop-reason'];
}

/** When its main container started first, in milliseconds. */
export function startedAtOf({ pod, starts }: RunPod): number | undefined {
  const main = mainContainerOf(pod);
  return starts.find(({ container }) => container === main)?.time;
}

/** Whether the Pod is made but not launched, because no status has recorded it. */
export function isGated(pod: Pod | undefined): boolean {
  const gate = 'cnat.programming-kubernetes.info/recorded';
  return pod?.spec.schedulingGates?.some(({ name }) => name === gate) ?? false;
}
