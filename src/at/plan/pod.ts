/**
 * Pod: the one that runs the command of an At. With schedule and command alone it is the book's: name,
 * namespace, label `app`, one container `busybox`, restartPolicy OnFailure, owned by the At.
 */

import { type At, atSpecDefaults } from '../../api/at.generated.ts';
import { atContainer, atPodLabel, atPodName } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import type { Pod, PodSpec } from '../../kubernetes/objects.ts';
import { controllerRef } from '../../kubernetes/owner.ts';
import type { Plan } from './plan.ts';
import { withSecureDefaults } from './pod-defaults.ts';
import { formatRun, isExactlyOnce, ownPrefix, runAnnotation } from './run.ts';
import { isSidecar, type Json, type Template } from './template.ts';

/**
 * Label with the uid of the At, as a Job labels its Pods. The operator watches the Pods that have it, so
 * that all the others of a cluster cost it nothing.
 */
export const podUidLabel = 'cnat.programming-kubernetes.info/controller-uid';

/** Finalizer of a Pod whose end is not recorded in the status of its At yet. */
export const trackingFinalizer = `${ownPrefix}tracked`;

/** Scheduling gate of a Pod that the status of its At does not record yet: no node gets it. */
export const recordedGate = `${ownPrefix}recorded`;

/**
 * @param attempt from 1; every attempt has a name of its own, and the name is the lock that lets only one
 *   such Pod exist.
 * @param options `tracked`: whether a Pod of ExactlyOnce gets {@link trackingFinalizer}, default true. `image`: of a main
 *   container for which neither spec nor template names one, default {@link atContainer}'s.
 */
export function buildPod(
  at: At,
  plan: Plan,
  attempt: number,
  options: { readonly tracked?: boolean; readonly image?: string | undefined } = {},
): Pod {
  const { template } = plan;
  const { tracked = true } = options;
  const isOpen = at.spec.image === undefined && template.containers[0]?.image === undefined;
  const defaultImage = isOpen ? options.image : undefined;
  const full = withoutOwnGate(podSpec(at, plan, defaultImage));
  const spec = isExactlyOnce(at) ? gated(full) : full;
  const run = formatRun(at, plan.dueAt, { container: spec.containers[0]?.name, defaultImage });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: atPodName(at.metadata.name, attempt),
      ...(at.metadata.namespace === undefined ? {} : { namespace: at.metadata.namespace }),
      labels: {
        ...texts(template.labels),
        [atPodLabel]: at.metadata.name,
        [podUidLabel]: at.metadata.uid ?? '',
      },
      annotations: { ...foreign(template.annotations), [runAnnotation]: run },
      ownerReferences: [controllerRef(ats, at)],
      ...(tracked && isExactlyOnce(at) ? { finalizers: [trackingFinalizer] } : {}),
    },
    spec,
  };
}

/** The template may have gates of its own, which are not this operator's to remove, or a copy of the one that is. */
function withoutOwnGate(spec: PodSpec): PodSpec {
  const { schedulingGates } = spec;
  if (!Array.isArray(schedulingGates)) return spec;
  return { ...spec, schedulingGates: schedulingGates.filter(({ name }) => name !== recordedGate) };
}

function gated(spec: PodSpec): PodSpec {
  const { schedulingGates } = spec;
  const others = Array.isArray(schedulingGates) ? schedulingGates : [];
  return { ...spec, schedulingGates: [...others, { name: recordedGate }] };
}

/** Without what only this operator writes: a template that was copied from a Pod names the end of that one's run. */
function foreign(annotations: Json): Record<string, string> {
  return texts(Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(ownPrefix))));
}

/** The API server refuses values that are no text, with a better sentence than one of ours. */
function texts(values: Json): Record<string, string> {
  return values as Record<string, string>;
}

function podSpec({ spec }: At, plan: Plan, defaultImage: string | undefined): PodSpec {
  const { template } = plan;
  // A Pod that names its node bypasses the scheduler and every check it makes.
  const { nodeName: _, ...given } = template.spec;
  const [main = {}, ...others] = template.containers;
  const deadline = backstop(spec, template);
  return withSecureDefaults({
    ...given,
    ...(template.initContainers.length === 0 ? {} : { initContainers: template.initContainers }),
    containers: [mainContainer(spec, plan, main, defaultImage), ...others],
    restartPolicy: (spec.backoffLimit ?? atSpecDefaults.backoffLimit) === 0 ? 'Never' : 'OnFailure',
    ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
  }) as unknown as PodSpec;
}

function mainContainer(spec: At['spec'], { command }: Plan, given: Json, image?: string): Json {
  const { command: _, args: __, ...rest } = given;
  return {
    // A command that fails says why in the status of its Pod, hence of its At.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    name: atContainer.name,
    image: image ?? atContainer.image,
    ...(command === undefined ? given : rest),
    ...(spec.image === undefined ? {} : { image: spec.image }),
    ...(command === undefined ? {} : { command }),
  };
}

/**
 * The deadline that ends the Pod even while the operator is down. Its clock starts when a kubelet sees the Pod, before
 * the container does, hence the sum; how long init containers run is not known. A smaller one of the template wins.
 */
function backstop(spec: At['spec'], template: Template): number | undefined {
  const { activeDeadlineSeconds, pendingTimeoutSeconds = atSpecDefaults.pendingTimeoutSeconds } = spec;
  const isOpen = pendingTimeoutSeconds === 0 || !template.initContainers.every(isSidecar);
  const own =
    activeDeadlineSeconds === undefined || isOpen
      ? Number.POSITIVE_INFINITY
      : pendingTimeoutSeconds + activeDeadlineSeconds;
  const given = template.spec.activeDeadlineSeconds;
  const smaller = Math.min(own, typeof given === 'number' ? given : Number.POSITIVE_INFINITY);
  return Number.isFinite(smaller) ? smaller : undefined;
}
