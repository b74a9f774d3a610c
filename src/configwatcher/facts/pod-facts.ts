/**
 * Pod facts: the little that a watcher has to know of a Pod. A list of ten thousand Pods is transformed to
 * these page by page, so that a restart costs a few megabytes and not hundreds.
 */
import {
  type ContainerStatus,
  controllerOf,
  type OwnerReference,
  type Pod,
} from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { failureOf, type PodFailure } from './pod-failure.ts';
import { referencesOf, volumeOf } from './pod-references.ts';
import { isRolloutAnnotation } from './rollout-annotation.ts';

export interface PodFacts {
  readonly uid: string;
  readonly name: string;
  /** The controller that would replace the Pod; absent for a bare one. */
  readonly controller?: OwnerReference;
  /** The image of a static Pod, whose containers its kubelet alone can stop. */
  readonly isMirror?: true;
  /** creationTimestamp, epoch ms, whole seconds of the API server's clock. */
  readonly created: number;
  /** Has a deletionTimestamp: it is on its way out. */
  readonly terminating: boolean;
  /** Succeeded or Failed: it serves no requests and does not start again. */
  readonly finished: boolean;
  /** With {@link terminating}: when its grace period is over, epoch ms. */
  readonly goneBy?: number;
  /** Condition Ready. */
  readonly ready: boolean;
  /** Since when it has been Ready without a restart of a container, epoch ms; absent while it is not Ready. */
  readonly stableSince?: number;
  /** The change that its template was changed for when it was made, by the annotation of the watcher. */
  readonly restartedFor?: string;
  /** When its containers started, those that have ended included: epoch ms, whole seconds of its node's clock. */
  readonly starts: readonly number[];
  /** How often the container that was restarted most often was restarted. */
  readonly restarts: number;
  /** Why a container does not run, or did not the last time. */
  readonly failure?: PodFailure;
  /** A node has it. */
  readonly hasNode?: true;
  /** No node can take it. */
  readonly unschedulable: boolean;
  /** Its node does not answer, by what the API server knows: its containers were Ready, and it is not. */
  readonly nodeLost: boolean;
  /** With {@link terminating}: a finalizer holds it, whatever its node does. */
  readonly held: boolean;
  /** It runs to an end: its restartPolicy is not Always. */
  readonly runsToEnd: boolean;
  /** It reads its configuration after the sources were read or written: it had no node, or has just got one. */
  readonly startsLater?: true;
  /** The revision of its owner's template: of a StatefulSet its hash, of a DaemonSet its number. */
  readonly revision?: string;
  /** Keys ({@link referenceKey}) of the ConfigMaps and Secrets its spec names. */
  readonly references: readonly string[];
}

function statusesOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** The kubelet may not report that a container was restarted as a transition of Ready, so its start counts as well. */
function stableSince({ metadata, status }: Pod): number | undefined {
  const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
  if (ready?.status !== 'True') return undefined;
  const created = parseTime(metadata.creationTimestamp ?? '');
  const times = [
    ready.lastTransitionTime,
    ...(status?.containerStatuses ?? []).map(({ state }) => state?.running?.startedAt),
  ].map((time) => parseTime(time ?? ''));
  return Math.max(created, ...times.filter(Number.isFinite));
}

/** A container that is restarted in place reads its configuration again. */
function startsOf(pod: Pod): number[] {
  return statusesOf(pod)
    .map(({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated)
    .map((started) => parseTime(started?.startedAt ?? ''))
    .filter(Number.isFinite);
}

const revisionLabels = ['pod-template-generation', 'controller-revision-hash'] as const;

/** The labels by which the controller of a DaemonSet or StatefulSet tells its revisions apart. */
function revisionOf({ metadata: { labels } }: Pod): string | undefined {
  return revisionLabels.map((name) => labels?.[name]).find((value) => value !== undefined);
}

/** A Pod that has run has one, whatever else is known of it. */
function hasNode({ spec, status }: Pod): boolean {
  return spec.nodeName !== undefined || status?.phase === 'Running';
}

function isUnschedulable({ status }: Pod): boolean {
  const { phase, conditions = [] } = status ?? {};
  const isRefused = conditions.some((one) => one.type === 'PodScheduled' && one.status === 'False');
  return phase === 'Pending' && isRefused;
}

/**
 * The node controller takes a Pod of a node that does not answer for not Ready; only a kubelet says so of its containers.
 * With readiness gates the two may differ as well.
 */
function isNodeLost({ status }: Pod): boolean {
  const { conditions = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  const containers = conditions.find(({ type }) => type === 'ContainersReady');
  return (
    ready?.status === 'False' && ready.reason !== 'ReadinessGatesNotReady' && containers?.status === 'True'
  );
}

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** A static Pod belongs to the kubelet of its node: nothing in the cluster replaces it. */
function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined;
}

/** Who would replace it. */
function ownershipOf(pod: Pod): Pick<PodFacts, 'controller' | 'isMirror'> {
  if (isMirror(pod)) return { isMirror: true };
  const controller = controllerOf(pod);
  return controller === undefined ? {} : { controller };
}

/** The version of a Pod that only its creator has written to: a kubelet that starts it writes its status. */
function untouchedVersion({ metadata }: Pod): string | undefined {
  const { managedFields = [], resourceVersion } = metadata;
  const [first, ...others] = managedFields;
  // Where a client has emptied the list, a kubelet may be the only one in it.
  const isOfCreator = first !== undefined && first.subresource === undefined && others.length === 0;
  return isOfCreator ? resourceVersion : undefined;
}

/** Resolves the race of a template that changes together with the content: creationTimestamps have whole seconds. */
function startsLater(pod: Pod, isAfterSources: (version: string) => boolean): boolean {
  const { spec, status } = pod;
  if (status?.phase === 'Pending' && spec.nodeName === undefined) return true;
  const version = untouchedVersion(pod);
  return version !== undefined && isAfterSources(version);
}

const keptConditions: ReadonlySet<string> = new Set(['Ready', 'ContainersReady', 'PodScheduled']);

function transformStatus({ name, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  return { name, restartCount, ...(state && { state }), ...(lastState && { lastState }) };
}

/**
 * What {@link podFactsOf} needs of a Pod, as a Pod: the references of its containers become volumes. For
 * lists, of which no page is kept as it was sent.
 */
export function transformListedPod(pod: Pod): Pod {
  const { name, uid = '', creationTimestamp = '', deletionTimestamp, finalizers = [] } = pod.metadata;
  const { controller } = ownershipOf(pod);
  const { phase, conditions = [], containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const { restartPolicy, nodeName } = pod.spec;
  const version = untouchedVersion(pod);
  const revision = revisionOf(pod);
  const annotations = Object.entries(pod.metadata.annotations ?? {}).filter(
    ([key]) => isRolloutAnnotation(key) || key === mirrorAnnotation,
  );
  return {
    metadata: {
      name,
      uid,
      creationTimestamp,
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
      ...(revision !== undefined && { labels: { [revisionLabels[0]]: revision } }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(controller && { ownerReferences: [controller] }),
      ...(finalizers.length > 0 && { finalizers }),
      ...(version !== undefined && { resourceVersion: version, managedFields: [{}] }),
    },
    spec: {
      containers: [],
      volumes: referencesOf(pod).map(volumeOf),
      ...(nodeName !== undefined && { nodeName }),
      ...(restartPolicy !== undefined && { restartPolicy }),
    },
    status: {
      ...(phase && { phase }),
      conditions: conditions.filter(({ type }) => keptConditions.has(type)),
      containerStatuses: containerStatuses.map(transformStatus),
      initContainerStatuses: initContainerStatuses.map(transformStatus),
    },
  };
}

/**
 * The facts of a Pod, whole or transformed.
 *
 * @param isAfterSources whether this version is later than those of the sources.
 * @param annotation of the rollouts that the watcher begins.
 */
export function podFactsOf(
  pod: Pod,
  isAfterSources: (version: string) => boolean = () => false,
  annotation = '',
): PodFacts {
  const { metadata, spec, status } = pod;
  const stable = stableSince(pod);
  const failure = failureOf(statusesOf(pod));
  const revision = revisionOf(pod);
  const restartedFor = metadata.annotations?.[annotation];
  const terminating = metadata.deletionTimestamp !== undefined;
  return {
    uid: metadata.uid ?? '',
    name: metadata.name,
    ...ownershipOf(pod),
    created: parseTime(metadata.creationTimestamp ?? ''),
    terminating,
    ...(terminating && { goneBy: parseTime(metadata.deletionTimestamp ?? '') }),
    finished: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    ready: stable !== undefined,
    ...(stable !== undefined && { stableSince: stable }),
    ...(restartedFor !== undefined && { restartedFor }),
    starts: startsOf(pod),
    restarts: Math.max(0, ...statusesOf(pod).map(({ restartCount }) => restartCount)),
    ...(failure && { failure }),
    ...(hasNode(pod) && { hasNode: true }),
    unschedulable: isUnschedulable(pod),
    nodeLost: isNodeLost(pod),
    held: (metadata.finalizers ?? []).length > 0,
    ...(startsLater(pod, isAfterSources) && { startsLater: true }),
    runsToEnd: (spec.restartPolicy ?? 'Always') !== 'Always',
    ...(revision !== undefined && { revision }),
    references: referencesOf(pod),
  };
}
