/** Container sources: which ConfigMaps and Secrets a container gets, as environment and as files. Pure. */
import type { ConfigMap, KubernetesObject } from '../../kubernetes/objects.ts';
import { fnv32a } from '../fnv.ts';
import type { ConfigMapVolumeSource, Container, KeyToPath, PodSpec, Secret, Volume } from '../objects.ts';
import type { SourceContent } from './program.ts';

export type SourceKind = 'ConfigMap' | 'Secret';
export type SourceObject = ConfigMap | Secret;

/** What the kubelet sees under a name in the Pod's namespace. */
export type SourceReader = (kind: SourceKind, name: string) => SourceObject | undefined;

export interface Environment {
  readonly env: Readonly<Record<string, string>>;
  readonly sources: readonly SourceContent[];
}

export interface Files {
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly sources: readonly SourceContent[];
}

/** Why a container cannot be configured, as its waiting state says it. */
export class ConfigError extends Error {}

type Reference = { readonly name?: string; readonly optional?: boolean };

/** @throws ConfigError for an object or a key that is missing and not optional. */
export function environmentOf(
  { env = [], envFrom = [] }: Container,
  namespace: string,
  read: SourceReader,
): Environment {
  const sources = new Map<string, SourceContent>();
  const values: Record<string, string> = {};
  const lookUp = (kind: SourceKind, { name = '', optional = false }: Reference) => {
    const object = read(kind, name);
    sources.set(`${kind}/${name}`, contentOf(kind, namespace, name, object, 'env'));
    if (object === undefined && !optional) throw new ConfigError(`${kind.toLowerCase()} "${name}" not found`);
    return object;
  };
  for (const { configMapRef, secretRef } of envFrom) {
    if (configMapRef) Object.assign(values, lookUp('ConfigMap', configMapRef)?.data);
    if (secretRef) Object.assign(values, decoded(lookUp('Secret', secretRef)?.data));
  }
  for (const { name, value = '', valueFrom = {} } of env) {
    const { configMapKeyRef, secretKeyRef } = valueFrom;
    const [kind, reference] = configMapKeyRef
      ? (['ConfigMap', configMapKeyRef] as const)
      : (['Secret', secretKeyRef] as const);
    if (reference === undefined) {
      values[name] = value;
      continue;
    }
    const found = keyOf(kind, lookUp(kind, reference), namespace, reference);
    if (found !== undefined) values[name] = found;
  }
  return { env: values, sources: [...sources.values()] };
}

function keyOf(
  kind: SourceKind,
  object: SourceObject | undefined,
  namespace: string,
  { name = '', key, optional = false }: Reference & { readonly key: string },
): string | undefined {
  if (object === undefined) return undefined;
  const value = kind === 'Secret' ? decoded(object.data)?.[key] : object.data?.[key];
  if (value === undefined && !optional) {
    throw new ConfigError(`couldn't find key ${key} in ${kind} ${namespace}/${name}`);
  }
  return value;
}

/** @throws ConfigError for an object or a key that is missing and not optional: the volume cannot be set up. */
export function filesOf({ volumes = [] }: PodSpec, namespace: string, read: SourceReader): Files {
  const sources: SourceContent[] = [];
  const files: Record<string, Record<string, string>> = {};
  for (const volume of volumes) {
    for (const { kind, name, optional, items } of volumeSources(volume)) {
      const object = read(kind, name);
      if (object === undefined && !optional) {
        throw new ConfigError(
          `MountVolume.SetUp failed for volume "${volume.name}" : ${kind.toLowerCase()} "${name}" not found`,
        );
      }
      sources.push(contentOf(kind, namespace, name, object, 'volume'));
      const data = kind === 'Secret' ? decoded(object?.data) : object?.data;
      files[volume.name] = { ...files[volume.name], ...projected(data ?? {}, items) };
    }
  }
  return { files, sources };
}

/** The names of all sources of a Pod: `ConfigMap/name`, `Secret/name`. */
export function referencedBy({
  containers,
  initContainers = [],
  volumes = [],
}: PodSpec): ReadonlySet<string> {
  const references = [...initContainers, ...containers].flatMap(environmentReferences);
  return new Set(
    [...references, ...volumes.flatMap(volumeSources)].map(({ kind, name = '' }) => `${kind}/${name}`),
  );
}

function environmentReferences({ env = [], envFrom = [] }: Container): readonly NamedReference[] {
  return [
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      named('ConfigMap', configMapRef),
      named('Secret', secretRef),
    ]),
    ...env.flatMap(({ valueFrom }) => [
      named('ConfigMap', valueFrom?.configMapKeyRef),
      named('Secret', valueFrom?.secretKeyRef),
    ]),
  ].filter((reference) => reference !== undefined);
}

interface NamedReference {
  readonly kind: SourceKind;
  readonly name?: string;
}

function named(kind: SourceKind, reference: Reference | undefined): NamedReference | undefined {
  return reference && { ...reference, kind };
}

interface VolumeSource {
  readonly kind: SourceKind;
  readonly name: string;
  readonly optional: boolean;
  readonly items: readonly KeyToPath[] | undefined;
}

function volumeSources({ configMap, secret, projected: projection }: Volume): readonly VolumeSource[] {
  const sources: VolumeSource[] = [];
  const add = (kind: SourceKind, source: ConfigMapVolumeSource | undefined) => {
    if (source === undefined) return;
    sources.push({ kind, name: source.name ?? '', optional: source.optional === true, items: source.items });
  };
  add('ConfigMap', configMap);
  add('Secret', secret && { ...secret, name: secret.secretName ?? '' });
  for (const source of projection?.sources ?? []) {
    add('ConfigMap', source.configMap);
    add('Secret', source.secret);
  }
  return sources;
}

function projected(
  data: Readonly<Record<string, string>>,
  items: readonly KeyToPath[] | undefined,
): Record<string, string> {
  if (items === undefined) return { ...data };
  return Object.fromEntries(items.map(({ key, path }) => [path, data[key] ?? '']));
}

function contentOf(
  kind: SourceKind,
  namespace: string,
  name: string,
  object: SourceObject | undefined,
  through: 'env' | 'volume',
): SourceContent {
  const { uid, resourceVersion } = object?.metadata ?? {};
  const data = object && dataOf(object);
  const digest = object === undefined ? '' : digestOf(object);
  return { kind, namespace, name, through, uid, resourceVersion, data, digest };
}

function dataOf({ data, ...rest }: SourceObject): Readonly<Record<string, string>> {
  return { ...data, ...(rest as ConfigMap).binaryData };
}

const digests = new WeakMap<KubernetesObject, string>();

/** Objects are immutable values, so each is hashed once. */
function digestOf(object: SourceObject): string {
  const known = digests.get(object);
  if (known !== undefined) return known;
  const entries = Object.entries(dataOf(object)).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify(entries);
  const digest = [fnv32a(text), fnv32a(text, 0x9e_37_79_b9)].map(hex).join('');
  digests.set(object, digest);
  return digest;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}

function decoded(data: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  if (data === undefined) return undefined;
  const entries = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ]);
  return Object.fromEntries(entries);
}
