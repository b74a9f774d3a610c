/** Timeline: what happened to an At and its Pods, from every source that shows a part of it. Pure. */
import type { At } from '../../api/at.generated.ts';
import { mainContainerName } from '../../at/plan/run.ts';
import type { ContainerState, Pod } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { CoreEvent } from '../cluster/resources.ts';
import type { Tone } from '../output/style.ts';
import { dueAt, sayOutcome } from './state.ts';

export interface Moment {
  /** Epoch ms. */
  readonly time: number;
  /** At, Pod or Event. */
  readonly source: string;
  readonly text: string;
  readonly tone: Tone;
}

export interface Sources {
  readonly at: At;
  readonly pods: readonly Pod[];
  readonly events: readonly CoreEvent[];
  /** Epoch ms. */
  readonly now: number;
}

/** Events of the scheduler and the kubelet that the Pod's own status tells, too. */
const repeated: readonly string[] = ['Scheduled', 'Pulling', 'Created', 'Started'];

/** By time; at one time in the order in which things come about. */
export function timelineOf({ at, pods, events, now }: Sources): readonly Moment[] {
  const moments = [
    ...beginOf(at),
    ...pods.flatMap(podMoments),
    ...events.filter(isNews).map(eventMoment),
    ...endOf(at),
  ];
  return moments
    .filter(({ time }) => !Number.isNaN(time) && time <= now + 60_000)
    .toSorted((a, b) => a.time - b.time);
}

function moment(time: string | undefined, source: string, text: string, tone: Tone = 'plain'): Moment {
  return { time: parseTime(time ?? ''), source, text, tone };
}

function beginOf(at: At): Moment[] {
  const { creationTimestamp, managedFields = [] } = at.metadata;
  const author = managedFields.find(({ subresource }) => subresource === undefined)?.manager;
  return [
    moment(creationTimestamp, 'At', `created${author === undefined ? '' : ` with ${author}`}`),
    { time: dueAt(at), source: 'At', text: 'due', tone: 'strong' },
  ];
}

function endOf(at: At): Moment[] {
  const { completionTime, outcome } = at.status ?? {};
  if (completionTime === undefined) return [];
  return [moment(completionTime, 'At', sayOutcome(at), outcome === 'Succeeded' ? 'good' : 'bad')];
}

function podMoments(pod: Pod): Moment[] {
  const { metadata, status } = pod;
  const { name } = metadata;
  const node = pod.spec.nodeName === undefined ? '' : ` to the node ${pod.spec.nodeName}`;
  const scheduled = status?.conditions?.find(
    ({ type, status }) => type === 'PodScheduled' && status === 'True',
  );
  const main = status?.containerStatuses?.find((container) => container.name === mainContainerName(pod));
  const { lastState, state, restartCount = 0 } = main ?? {};
  return [
    moment(metadata.creationTimestamp, 'Pod', `${name} created`),
    moment(scheduled?.lastTransitionTime, 'Pod', `${name} assigned${node}`),
    ...(restartCount > 0 ? runMoments(name, lastState, restartCount - 1) : []),
    ...runMoments(name, state, restartCount),
    moment(metadata.deletionTimestamp, 'Pod', `${name} is being deleted`, 'warn'),
  ];
}

/** @param restarts before this run. */
function runMoments(name: string, state: ContainerState | undefined, restarts: number): Moment[] {
  const { running, terminated } = state ?? {};
  const again = restarts === 0 ? '' : ` again (restart ${restarts})`;
  const start = moment(
    running?.startedAt ?? terminated?.startedAt,
    'Pod',
    `${name} runs the command${again}`,
  );
  if (terminated === undefined) return [start];
  const { exitCode, reason = '', finishedAt } = terminated;
  const why = reason === '' || reason === 'Completed' || reason === 'Error' ? '' : `, ${reason}`;
  const end = moment(
    finishedAt,
    'Pod',
    `the command ended with exit code ${exitCode}${why}`,
    exitCode === 0 ? 'good' : 'bad',
  );
  return [start, end];
}

function isNews({ type, reason = '', involvedObject }: CoreEvent): boolean {
  return type !== 'Normal' || involvedObject?.kind !== 'Pod' || !repeated.includes(reason);
}

function eventMoment(event: CoreEvent): Moment {
  const { type, reason = '', message = '', series } = event;
  const count = series?.count ?? event.count ?? 1;
  const time = event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;
  const text = `${reason}: ${message}${count > 1 ? ` (${count} times)` : ''}`;
  return moment(time ?? undefined, 'Event', text, type === 'Warning' ? 'warn' : 'plain');
}
