/**
 * Slim: the parts of Ats and Pods that decisions read, for the informers' stores. An operator may hold a
 * hundred thousand waiting Ats for months; what nobody reads is not kept.
 */
import type { At } from '../api/at.generated.ts';
import type { Condition, ContainerStatus, ObjectMeta, Pod } from '../api/kubernetes.ts';

const ownAnnotation = 'cnat.programming-kubernetes.info/';

/** Without labels and annotations, of which `kubectl apply` leaves a copy of the whole object. */
export function slimAt(at: At): At {
  const { labels: _, annotations: __, ownerReferences: ___, ...metadata } = at.metadata;
  const { conditions } = at.status ?? {};
  if (conditions === undefined) return { ...at, metadata };
  // Fields that are there already take their new values in place; added ones would need more room.
  return { ...at, metadata, status: { ...at.status, conditions: conditions.map(slimCondition) } };
}

/** Thousands of waiting Ats say the same, each in texts of its own as parsed: a third of their size. */
function slimCondition(condition: Condition): Condition {
  const { type, reason, message, lastTransitionTime } = condition;
  return {
    ...condition,
    type: sharedText(type),
    reason: sharedText(reason),
    message: sharedText(message),
    lastTransitionTime: sharedText(lastTransitionTime),
  };
}

/** Forgotten all at once when there are too many: what is said often is soon there again. */
const sharedTexts = new Map<string, string>();
const mostSharedTexts = 1000;

function sharedText(text: string): string {
  const known = sharedTexts.get(text);
  if (known !== undefined) return known;
  if (sharedTexts.size >= mostSharedTexts) sharedTexts.clear();
  sharedTexts.set(text, text);
  return text;
}

/** The Pod as {@link observePod} reads it. */
export function slimPod(pod: Pod): Pod {
  const { spec, status } = pod;
  const { restartPolicy, terminationGracePeriodSeconds } = spec;
  const main = spec.containers[0]?.name ?? '';
  return {
    metadata: slimMetadata(pod.metadata),
    spec: {
      containers: [{ name: main }],
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
      ...(terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds }),
    },
    ...(status === undefined ? {} : { status: slimStatus(status, main) }),
  };
}

function slimMetadata(metadata: ObjectMeta): ObjectMeta {
  const { annotations = {}, managedFields: _, finalizers: __, ...kept } = metadata;
  const own = Object.entries(annotations).filter(([key]) => key.startsWith(ownAnnotation));
  return { ...kept, ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }) };
}

function slimStatus(status: NonNullable<Pod['status']>, main: string): NonNullable<Pod['status']> {
  const { phase, reason, message, startTime, conditions, containerStatuses, initContainerStatuses } = status;
  const told = conditions?.filter(({ type }) => type === 'PodScheduled' || type === 'DisruptionTarget');
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(told === undefined ? {} : { conditions: told }),
    ...(containerStatuses === undefined
      ? {}
      : { containerStatuses: containerStatuses.filter(({ name }) => name === main).map(slimContainer) }),
    // Of init containers only what one of them waits for is read.
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(slimContainer) }),
  };
}

function slimContainer({ name, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  return {
    name,
    restartCount,
    ...(state === undefined ? {} : { state }),
    ...(lastState === undefined ? {} : { lastState }),
  };
}
