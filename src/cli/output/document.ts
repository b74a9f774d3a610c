/** Document: objects as JSON, YAML or names, as kubectl prints them. */
import { stringify } from 'yaml';
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { UsageError } from '../program/exit.ts';

export const formats = ['json', 'yaml', 'name'] as const;
export type Format = (typeof formats)[number];

/** Of what is told and is no object of the API. */
export const dataFormats = ['json', 'yaml'] as const;

export function formatOf(value: string | undefined): Format | undefined;
export function formatOf<T extends Format>(value: string | undefined, known: readonly T[]): T | undefined;
/** @throws {UsageError} for a format that there is not. */
export function formatOf(value: string | undefined, known: readonly Format[] = formats): Format | undefined {
  if (value === undefined) return undefined;
  const format = known.find((name) => name === value);
  if (format === undefined) {
    throw new UsageError(`--output is one of ${known.join(', ')}, not "${value}"`);
  }
  return format;
}

export function objectDocument<T extends KubernetesObject>(
  object: T,
  resource: Resource<T>,
  format: Format,
): string {
  if (format === 'name') return nameLine(object, resource);
  return documentOf(complete(object, resource), format);
}

export function listDocument<T extends KubernetesObject>(
  objects: readonly T[],
  resource: Resource<T>,
  format: Format,
): string {
  if (format === 'name') return objects.map((object) => nameLine(object, resource)).join('');
  const items = objects.map((object) => complete(object, resource));
  return documentOf({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items }, format);
}

/** One as it is, several as a List, as kubectl does. */
export function documentOfAll<T extends KubernetesObject>(
  objects: readonly T[],
  resource: Resource<T>,
  format: Format,
): string {
  const [only, ...others] = objects;
  return only !== undefined && others.length === 0
    ? objectDocument(only, resource, format)
    : listDocument(objects, resource, format);
}

/** `at.cnat.programming-kubernetes.info/example` */
function nameLine({ metadata }: KubernetesObject, { kind, group }: Resource): string {
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}\n`;
}

/** Without managedFields, which kubectl leaves out, too. */
function complete<T extends KubernetesObject>(object: T, resource: Resource<T>): object {
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  const { managedFields: ___, ...shown } = metadata;
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: shown, ...rest };
}

/** YAML 1.1, so that texts which kubectl's parser takes for numbers, times or booleans are quoted. */
export function documentOf(object: object, format: (typeof dataFormats)[number]): string {
  if (format === 'json') return `${JSON.stringify(object, null, 4)}\n`;
  return stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
}
