/** Pod references: the ConfigMaps and Secrets that a Pod names, as keys. */
import type { ConfigWatcherSpecSourceKind } from '../../api/configwatcher.generated.ts';
import type { Container, Pod, Volume } from '../../kubernetes/objects.ts';

/** How a ConfigMap or Secret is named in {@link PodFacts.references}. */
export function referenceKey(kind: ConfigWatcherSpecSourceKind, name: string): string {
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

export function referencesOf({ spec }: Pod): string[] {
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

/** The inverse: a volume that names it. */
export function volumeOf(reference: string): Volume {
  const name = reference.slice(reference.indexOf('/') + 1);
  return reference.startsWith('ConfigMap/')
    ? { name: '', configMap: { name } }
    : { name: '', secret: { secretName: name } };
}
