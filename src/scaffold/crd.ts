/**
 * Crd: one version of a CustomResourceDefinition, as far as generators read it. `x-kubernetes-*` keywords are named as
 * in the YAML.
 */
import { readFile } from 'node:fs/promises';
import { parse, parseAllDocuments } from 'yaml';

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

export interface PrinterColumn {
  readonly name: string;
  readonly description?: string;
  readonly jsonPath: string;
  readonly priority?: number;
}

export interface CrdVersion {
  readonly name: string;
  readonly storage?: boolean;
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly subresources?: { readonly status?: object };
  readonly schema: { readonly openAPIV3Schema: Schema };
}

export interface Crd {
  /** Path of the file, relative to the project. */
  readonly path: string;
  readonly text: string;
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  /** Further groups that serve the same kind. */
  readonly otherGroups?: readonly string[];
  readonly version: CrdVersion;
}

/**
 * Reads one CRD file.
 *
 * @throws {Error} when the file does not hold exactly one version: the generated names have no room for more.
 */
export async function readCrd(path: string): Promise<Crd> {
  const text = await readFile(path, 'utf8');
  const { spec } = parse(text);
  if (spec.versions.length !== 1) {
    throw new Error(`${path}: expected one version, found ${spec.versions.length}`);
  }
  return crdOf(path, text, spec, spec.versions[0]);
}

interface DefinitionSpec {
  readonly group: string;
  readonly scope: string;
  readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
  readonly versions: readonly CrdVersion[];
}

function crdOf(path: string, text: string, spec: DefinitionSpec, version: CrdVersion): Crd {
  const { group, scope, names } = spec;
  const { kind, plural, shortNames = [] } = names;
  return { path, text, group, kind, plural, shortNames, version, namespaced: scope === 'Namespaced' };
}

/**
 * The CRDs of a file that may hold other objects, too; of each the version that is stored.
 *
 * @throws {Error} when there is none, or one without a schema.
 */
export function crdsIn(path: string, text: string): Crd[] {
  const found = parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object?.kind === 'CustomResourceDefinition')
    .map(({ spec }: { spec: DefinitionSpec }) => {
      const version = spec.versions.find(({ storage }) => storage);
      if (version?.schema?.openAPIV3Schema === undefined) {
        throw new Error(
          `${path}: ${spec.names.plural}.${spec.group} has no schema of apiextensions.k8s.io/v1`,
        );
      }
      return crdOf(path, text, spec, version);
    });
  if (found.length === 0) throw new Error(`${path} has no CustomResourceDefinition`);
  return found;
}

/** `maxUnavailable` → `MaxUnavailable`. */
export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** `ConfigWatcher` → `configWatcher`. */
export function uncapitalized(word: string): string {
  return word.charAt(0).toLowerCase() + word.slice(1);
}

/** Whether a schema is that of metav1.Condition, the list every kind has. */
export function isConditions(name: string, schema: Schema): boolean {
  return name === 'conditions' && schema['x-kubernetes-list-map-keys']?.includes('type') === true;
}
