/** Pod phase: from the states of the containers, as the kubelet finds it (getPhase). Pure. */
import type { PodPhase } from '../../kubernetes/objects.ts';
import type { ContainerStatus, Pod, PodSpec } from '../objects.ts';
import type { PodReport } from './pod-status.ts';

function isLast(phase: PodPhase | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/**
 * The phase that a kubelet reports: one that has ended stays so, and none ends before all its containers have.
 *
 * @param ways.isStopped the kubelet has ended it, for its deadline say.
 */
export function nextPhase(
  { spec, status }: Pod,
  { inits, mains }: Pick<PodReport, 'inits' | 'mains'>,
  { isEnded, isStopped }: { readonly isEnded: boolean; readonly isStopped: boolean },
): PodPhase {
  const { phase: before } = status ?? {};
  if (isLast(before)) return before;
  const phase = phaseOf(spec, inits, mains, isEnded);
  if (!isEnded) return isLast(phase) ? (before ?? 'Pending') : phase;
  return phase === 'Succeeded' && !isStopped ? phase : 'Failed';
}

/** @param ended whether no container will ever be started again */
export function phaseOf(
  spec: PodSpec,
  inits: readonly ContainerStatus[],
  mains: readonly ContainerStatus[],
  ended: boolean,
): PodPhase {
  const { restartPolicy = 'Always' } = spec;
  const regular = (spec.initContainers ?? []).filter((container) => container.restartPolicy !== 'Always');
  const stages = regular.map(({ name }) => stageOf(inits.find((status) => status.name === name)));
  if (stages.includes('failed') && restartPolicy === 'Never') return 'Failed';
  const counts = countsOf(mains);
  const begun = counts.running + counts.stopped > 0;
  if (stages.some((stage) => stage !== 'done') && !begun) return 'Pending';
  if (counts.waiting > 0) return 'Pending';
  if (counts.running > 0) return 'Running';
  if (counts.stopped === 0) return 'Pending';
  if (ended) return counts.succeeded === counts.stopped ? 'Succeeded' : 'Failed';
  if (restartPolicy === 'Always') return 'Running';
  if (sidecarsRun(spec, inits)) return 'Running';
  if (counts.succeeded === counts.stopped) return 'Succeeded';
  return restartPolicy === 'Never' ? 'Failed' : 'Running';
}

/** How far an init container is. */
function stageOf(status: ContainerStatus | undefined): 'pending' | 'failed' | 'done' {
  const ended = status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated);
  if (ended === undefined) return 'pending';
  if (ended.exitCode !== 0) return 'failed';
  return status?.state?.terminated === undefined ? 'pending' : 'done';
}

function countsOf(mains: readonly ContainerStatus[]) {
  const counts = { waiting: 0, running: 0, stopped: 0, succeeded: 0 };
  for (const { state, lastState } of mains) {
    if (state?.running) counts.running++;
    else if (state?.terminated) {
      counts.stopped++;
      if (state.terminated.exitCode === 0) counts.succeeded++;
    } else if (lastState?.terminated) counts.stopped++;
    else counts.waiting++;
  }
  return counts;
}

/** Native sidecars end after the main containers, and the Pod with them. */
function sidecarsRun(spec: PodSpec, inits: readonly ContainerStatus[]): boolean {
  const names = new Set(
    (spec.initContainers ?? [])
      .filter((container) => container.restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  return inits.some(({ name, state }) => names.has(name) && state?.running !== undefined);
}
