/**
 * References: which ConfigMaps and Secrets the Pods of a template use, and which keys of them. Pure.
 */
import type {
  ConfigWatcherSpecSource,
  ConfigWatcherSpecSourceKind,
} from '../../api/configwatcher.generated.ts';
import type { Container, PodSpec, Volume, VolumeItems } from '../../kubernetes/objects.ts';

/** One ConfigMap or Secret, with all the places that name it. */
export interface Reference {
  readonly kind: ConfigWatcherSpecSourceKind;
  readonly name: string;
  /** Sorted. Absent: every key. */
  readonly keys?: readonly string[];
  /** True where every place says so. */
  readonly optional: boolean;
  /** False: it is in volumes that no container mounts. */
  readonly used: boolean;
}

/** One place of a PodSpec that names a ConfigMap or Secret. */
interface Place {
  readonly kind: ConfigWatcherSpecSourceKind;
  readonly name: string | undefined;
  readonly keys?: readonly string[];
  readonly optional?: boolean | undefined;
  readonly used: boolean;
}

/** A source of a ConfigWatcher has no more keys, so more of them count as all. */
export const maxKeys = 64;

/** Sorted by kind and name, so that another order of the containers changes nothing. */
export function referencesOf(spec: PodSpec | undefined): readonly Reference[] {
  const places = new Map<string, Place[]>();
  for (const place of spec === undefined ? [] : placesOf(spec)) {
    if (!place.name) continue;
    const key = `${place.kind}/${place.name}`;
    places.set(key, [...(places.get(key) ?? []), place]);
  }
  return [...places]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, [first, ...more]]) => (first === undefined ? [] : referenceOf(first, [first, ...more])));
}

/** The source of a ConfigWatcher that watches what the reference shows. */
export function sourceOf({ kind, name, keys, optional }: Reference): ConfigWatcherSpecSource {
  return { kind, name, ...(keys && { keys }), ...(optional && { optional }) };
}

function referenceOf({ kind, name = '' }: Place, places: readonly Place[]): Reference {
  const keys = places.every((place) => place.keys !== undefined)
    ? [...new Set(places.flatMap((place) => place.keys ?? []))].sort()
    : [];
  return {
    kind,
    name,
    ...(keys.length > 0 && keys.length <= maxKeys && { keys }),
    optional: places.every(({ optional }) => optional === true),
    used: places.some(({ used }) => used),
  };
}

function placesOf({ containers = [], initContainers = [], volumes = [] }: PodSpec): readonly Place[] {
  const all = [...initContainers, ...containers];
  const mounted = new Set(all.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return [
    ...all.flatMap(inContainer),
    ...volumes.flatMap((volume) => inVolume(volume, mounted.has(volume.name))),
  ];
}

function inContainer({ env = [], envFrom = [] }: Container): readonly Place[] {
  const used = true;
  return [
    ...env.flatMap(({ valueFrom: { configMapKeyRef, secretKeyRef } = {} }): Place[] => [
      { kind: 'ConfigMap', name: configMapKeyRef?.name, ...keyOf(configMapKeyRef), used },
      { kind: 'Secret', name: secretKeyRef?.name, ...keyOf(secretKeyRef), used },
    ]),
    ...envFrom.flatMap(({ configMapRef, secretRef }): Place[] => [
      { kind: 'ConfigMap', name: configMapRef?.name, optional: configMapRef?.optional, used },
      { kind: 'Secret', name: secretRef?.name, optional: secretRef?.optional, used },
    ]),
  ];
}

function keyOf(reference: { readonly key: string; readonly optional?: boolean } | undefined) {
  return { keys: reference ? [reference.key] : [], optional: reference?.optional };
}

function inVolume({ configMap, secret, projected }: Volume, used: boolean): readonly Place[] {
  const sources = projected?.sources ?? [];
  return [
    { kind: 'ConfigMap', name: configMap?.name, ...itemsOf(configMap), used },
    { kind: 'Secret', name: secret?.secretName, ...itemsOf(secret), used },
    ...sources.flatMap((source): Place[] => [
      { kind: 'ConfigMap', name: source.configMap?.name, ...itemsOf(source.configMap), used },
      { kind: 'Secret', name: source.secret?.name, ...itemsOf(source.secret), used },
    ]),
  ];
}

function itemsOf(volume: VolumeItems | undefined) {
  const keys = volume?.items?.map(({ key }) => key);
  return { ...(keys && keys.length > 0 && { keys }), optional: volume?.optional };
}
