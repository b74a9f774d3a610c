/** Kubelet: what a node makes of a Pod, and what keeps a Pod from it. */
import { recordedGate, trackingFinalizer } from '../../src/at/plan/pod.ts';
import type { ObjectMeta, Pod, PodStatus } from '../../src/kubernetes/objects.ts';
import { timeText } from '../fixtures/at.ts';

/** What the kubelet reports of a Pod that has not ended. */
export function kubeletStep(
  { metadata, spec, status }: Pod,
  now: number,
  exitCode: number | undefined,
): PodStatus {
  const name = spec.containers[0]?.name ?? '';
  const time = timeText(now);
  const ended = (code: number, reason?: string): PodStatus => {
    const terminated = { exitCode: code, startedAt: status?.startTime ?? time, finishedAt: time };
    return {
      phase: code === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name, restartCount: 0, state: { terminated } }],
      ...(reason === undefined ? {} : { reason }),
    };
  };
  if (metadata.deletionTimestamp !== undefined) return ended(143);
  if (status?.startTime === undefined) return { startTime: time };
  if (spec.activeDeadlineSeconds === 1) return ended(143, 'DeadlineExceeded');
  if (status.phase === 'Running' && exitCode !== undefined) return ended(exitCode);
  const state = { running: { startedAt: status.startTime } };
  return { phase: 'Running', containerStatuses: [{ name, restartCount: 0, state }] };
}

export function isGated({ spec }: Pod): boolean {
  return spec.schedulingGates?.some(({ name }) => name === recordedGate) ?? false;
}

export function isHeld({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

/** Whether a node has the Pod, or the scheduler gives it to one. */
export function isSchedulable(pod: Pod): boolean {
  return pod.spec.nodeName !== undefined || (pod.metadata.deletionTimestamp === undefined && !isGated(pod));
}

export function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}
