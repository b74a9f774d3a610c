/**
 * Transforms: the parts of Ats and Pods that decisions read, for the informers' stores. An operator may hold a
 * hundred thousand waiting Ats for months; what no decision reads is not kept.
 */
import type { At, AtSpec } from '../../api/at.generated.ts';
import { atAnnotation, atPhase } from '../../api/at-constants.ts';
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  ObjectMeta,
  Pod,
} from '../../kubernetes/objects.ts';
import { trackingFinalizer } from '../plan/pod.ts';
import { mainContainerName, ownPrefix } from '../plan/run.ts';
import { sanitize } from '../plan/sanitize.ts';
import { isSidecar } from '../plan/template.ts';
import { type ReadAt, withLastEdit } from './last-edit.ts';

/** Without labels and annotations, of which `kubectl apply` leaves a copy of the whole object; the author is kept. */
export function transformAt(read: At): ReadAt {
  const at = withLastEdit(sanitize(read));
  const { labels: _, annotations: all, ownerReferences: __, ...rest } = at.metadata;
  const author = all?.[atAnnotation.author];
  const annotations = author === undefined ? {} : { annotations: { [atAnnotation.author]: author } };
  const metadata: ObjectMeta = withShared({ ...rest, ...annotations }, 'annotations');
  // Fields that are there already take their new values in place; added ones would need more room.
  const slim = {
    ...at,
    metadata: withShared(metadata, 'creationTimestamp'),
    spec: withShared(withShared(transformSpec(at), 'launchGuarantee'), 'schedule'),
    ...(at.status && { status: withShared(withShared(at.status, 'conditions'), 'scheduledTime') }),
  };
  // Of those that wait for one instant, all that differs may be the name. A template may be long.
  const common = slim.spec.template === undefined ? withShared(slim, 'spec') : slim;
  return withShared(common, 'status');
}

/** What to run, up to a megabyte of template, is read until it runs, and longer only where it may run again. */
function transformSpec({ spec, status }: At): AtSpec {
  const phase = status?.phase;
  const isOver = phase === atPhase.done || (phase === atPhase.running && spec.disruptionPolicy !== 'Retry');
  if (!isOver) return spec;
  const { template: _, command: __, argv: ___, shell: ____, image: _____, ...kept } = spec;
  return kept;
}

/**
 * Values that thousands of waiting Ats share, each in objects and texts of its own as parsed: half of their size.
 * It may be shared because all that is cached is frozen. Forgotten all at once when there is too much of it:
 * a common value soon returns.
 */
const shared = new Map<string, unknown>();
const maxShared = 1000;
/** Characters as JSON. Longer values are not shared by thousands of Ats, and would stay here. */
const maxSharedLength = 2000;

/** `holder` with a value of the field that others of the same content have, too. */
function withShared<T extends object>(holder: T, field: keyof T): T {
  const value = holder[field];
  if (value === undefined) return holder;
  const text = JSON.stringify(value);
  if (text.length > maxSharedLength) return holder;
  const known = shared.get(text) as T[keyof T] | undefined;
  if (known !== undefined) return { ...holder, [field]: known };
  if (shared.size >= maxShared) shared.clear();
  shared.set(text, value);
  return holder;
}

/** The Pod as {@link observePod} reads it. */
export function transformPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  const { activeDeadlineSeconds, restartPolicy, terminationGracePeriodSeconds, schedulingGates } = spec;
  const main = mainContainerName(pod) ?? '';
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  return {
    metadata: transformMetadata(metadata),
    spec: {
      containers: [{ name: main }],
      ...(sidecars.length === 0 ? {} : { initContainers: sidecars.map(transformSidecar) }),
      ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
      ...(terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds }),
      ...(schedulingGates === undefined ? {} : { schedulingGates }),
      // Of one that is deleted: whether a kubelet has it.
      ...(metadata.deletionTimestamp && spec.nodeName ? { nodeName: spec.nodeName } : {}),
    },
    ...(status === undefined ? {} : { status: transformStatus(status, main) }),
  };
}

function transformMetadata(metadata: ObjectMeta): ObjectMeta {
  const { annotations = {}, managedFields: _, finalizers = [], ...kept } = metadata;
  const own = Object.entries(annotations).filter(([key]) => key.startsWith(ownPrefix));
  return {
    ...kept,
    ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
    // All of them: the patch that removes ours names its place among them.
    ...(finalizers.includes(trackingFinalizer) ? { finalizers } : {}),
  };
}

function transformStatus(status: NonNullable<Pod['status']>, main: string): NonNullable<Pod['status']> {
  const { phase, reason, message, startTime, conditions, containerStatuses, initContainerStatuses } = status;
  const relevant = conditions?.filter(({ type }) => type === 'PodScheduled' || type === 'DisruptionTarget');
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(relevant === undefined ? {} : { conditions: relevant }),
    ...(containerStatuses === undefined
      ? {}
      : {
          containerStatuses: containerStatuses.map((one) =>
            one.name === main ? transformContainer(one) : transformHelper(one),
          ),
        }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(transformInit) }),
  };
}

/** It is known by its restartPolicy alone. */
function transformSidecar({ name, restartPolicy }: Container): Container {
  return { name, ...(restartPolicy === undefined ? {} : { restartPolicy }) };
}

/** Of init containers it is also read when they ran: that is no waiting. */
function transformInit(container: ContainerStatus): ContainerStatus {
  return transformRuns(container, ({ exitCode, startedAt, finishedAt }) => ({
    exitCode,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  }));
}

/** Of other containers than the main one it is read whether they fail, what they wait for, and when the last of them ends. */
function transformHelper(container: ContainerStatus): ContainerStatus {
  return transformRuns(container, ({ exitCode, finishedAt }) => ({
    exitCode,
    ...(finishedAt === undefined ? {} : { finishedAt }),
  }));
}

function transformRuns(
  { name, restartCount, state, lastState }: ContainerStatus,
  transformEnd: (end: ContainerStateTerminated) => ContainerStateTerminated,
): ContainerStatus {
  const transformState = (full: ContainerState): ContainerState =>
    full.terminated === undefined ? full : { terminated: transformEnd(full.terminated) };
  return {
    name,
    restartCount,
    ...(state === undefined ? {} : { state: transformState(state) }),
    ...(lastState === undefined ? {} : { lastState: transformState(lastState) }),
  };
}

function transformContainer({ name, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  return {
    name,
    restartCount,
    ...(state === undefined ? {} : { state }),
    ...(lastState === undefined ? {} : { lastState }),
  };
}
