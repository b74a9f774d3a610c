/**
 * Pod facts: the little that a watcher has to know of a Pod. A list of ten thousand Pods is slimmed to
 * these page by page, so that a restart costs a few megabytes and not hundreds.
 */
import {
  type Container,
  controllerOf,
  type OwnerReference,
  type Pod,
  type Volume,
} from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { SourceKind } from '../plan/config-hash.ts';

export interface PodFacts {
  readonly uid: string;
  readonly name: string;
  /** The controller that would replace the Pod; absent for a bare one. */
  readonly controller?: OwnerReference;
  /** creationTimestamp, epoch ms, whole seconds of the API server's clock. */
  readonly created: number;
  /** Has a deletionTimestamp: it is on its way out. */
  readonly terminating: boolean;
  /** Succeeded or Failed: it serves nobody and will not start again. */
  readonly finished: boolean;
  /** Condition Ready. */
  readonly ready: boolean;
  /** Keys ({@link referenceKey}) of the ConfigMaps and Secrets its spec names. */
  readonly references: readonly string[];
}

/** How a ConfigMap or Secret is named in {@link PodFacts.references}. */
export function referenceKey(kind: SourceKind, name: string): string {
  return `${kind}/${name}`;
}

function referencesOfContainer(container: Container): (string | undefined)[] {
  const fromKeys = (container.env ?? []).map(({ valueFrom }) => [
    valueFrom?.configMapKeyRef?.name && referenceKey('ConfigMap', valueFrom.configMapKeyRef.name),
    valueFrom?.secretKeyRef?.name && referenceKey('Secret', valueFrom.secretKeyRef.name),
  ]);
  const whole = (container.envFrom ?? []).map(({ configMapRef, secretRef }) => [
    configMapRef?.name && referenceKey('ConfigMap', configMapRef.name),
    secretRef?.name && referenceKey('Secret', secretRef.name),
  ]);
  return [...fromKeys, ...whole].flat();
}

function referencesOf({ spec }: Pod): string[] {
  const volumes = (spec.volumes ?? []).flatMap(({ configMap, secret, projected }) => [
    configMap?.name && referenceKey('ConfigMap', configMap.name),
    secret?.secretName && referenceKey('Secret', secret.secretName),
    ...(projected?.sources ?? []).flatMap((source) => [
      source.configMap?.name && referenceKey('ConfigMap', source.configMap.name),
      source.secret?.name && referenceKey('Secret', source.secret.name),
    ]),
  ]);
  const containers = [...(spec.initContainers ?? []), ...spec.containers].flatMap(referencesOfContainer);
  return [...new Set([...volumes, ...containers])].flatMap((key) => key || []);
}

/**
 * What {@link podFactsOf} needs of a Pod, as a Pod: the references of its containers become volumes. For
 * lists, of which no page is kept as it was sent.
 */
export function slimListedPod(pod: Pod): Pod {
  const { name, uid = '', creationTimestamp = '', deletionTimestamp } = pod.metadata;
  const controller = controllerOf(pod);
  const phase = pod.status?.phase;
  return {
    metadata: {
      name,
      uid,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(controller && { ownerReferences: [controller] }),
    },
    spec: { containers: [], volumes: referencesOf(pod).map(volumeOf) },
    status: {
      ...(phase && { phase }),
      conditions: (pod.status?.conditions ?? []).filter(({ type }) => type === 'Ready'),
    },
  };
}

function volumeOf(reference: string): Volume {
  const name = reference.slice(reference.indexOf('/') + 1);
  return reference.startsWith('ConfigMap/')
    ? { name: '', configMap: { name } }
    : { name: '', secret: { secretName: name } };
}

/** The facts of a Pod, whole or slimmed. */
export function podFactsOf(pod: Pod): PodFacts {
  const { metadata, status } = pod;
  const controller = controllerOf(pod);
  return {
    uid: metadata.uid ?? '',
    name: metadata.name,
    ...(controller && { controller }),
    created: parseTime(metadata.creationTimestamp ?? ''),
    terminating: metadata.deletionTimestamp !== undefined,
    finished: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    ready: (status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True'),
    references: referencesOf(pod),
  };
}
