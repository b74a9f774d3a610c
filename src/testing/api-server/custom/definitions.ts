/**
 * Definitions: CustomResourceDefinitions as objects, and the resources that they make the server serve.
 */
import { badRequest, type FieldError, invalidValue } from '../failure.ts';
import { isJsonObject } from '../json-value.ts';
import type { ServedResource } from '../served-resource.ts';
import type { AnyObject, Strategy } from '../strategy.ts';
import { CelRules } from './cel-rules.ts';
import { duplicateErrors, noField, schemaErrors } from './schema-validator.ts';
import { defaulted, pruned, type Schema } from './structural-schema.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

interface DefinitionNames {
  readonly plural: string;
  readonly kind: string;
  readonly singular?: string;
  readonly listKind?: string;
}

interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: object };
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

/** apiextensions.k8s.io/v1 CustomResourceDefinition. */
export interface Definition extends AnyObject {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: DefinitionNames;
    readonly versions: readonly DefinitionVersion[];
  };
}

const definitionStrategy: Strategy = {
  prepare(object, old, { now }) {
    if (old !== undefined) return object;
    const { spec } = object as Definition;
    const { names, versions } = spec;
    const all = { singular: names.kind.toLowerCase(), listKind: `${names.kind}List`, ...names };
    const condition = (type: string, reason: string, message: string) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
      reason,
      message,
    });
    const conditions = [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ];
    const storedVersions = versions.filter(({ storage }) => storage).map(({ name }) => name);
    const status = { conditions, acceptedNames: all, storedVersions };
    return { ...object, spec: { conversion: { strategy: 'None' }, ...spec, names: all }, status };
  },
  validate: (object) => ruleErrors(object as Definition),
  terminating: (object) => {
    const { finalizers = [] } = object.metadata;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, cleanupFinalizer] } };
  },
  // Its own objects go first, and a finalizer stands for them from the delete on.
  isHeld: ({ metadata }) => metadata.deletionTimestamp === undefined,
};

/** What serves the definitions themselves. */
export const servedDefinitions: ServedResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
  strategy: definitionStrategy,
};

/** A rule that does not compile. */
function ruleErrors({ spec }: Definition): FieldError[] {
  return spec.versions.flatMap(({ schema }, index) => {
    try {
      new CelRules(schema?.openAPIV3Schema ?? {});
      return [];
    } catch (error) {
      const field = `spec.versions[${index}].schema.openAPIV3Schema.x-kubernetes-validations`;
      return [
        invalidValue(
          field,
          undefined,
          `compilation failed: ${error instanceof Error ? error.message : error}`,
        ),
      ];
    }
  });
}

/** What a definition makes the server serve: a resource for each version. */
export function resourcesOf({ spec, metadata }: Definition): ServedResource[] {
  const { group, scope, names } = spec;
  return spec.versions
    .filter(({ served }) => served)
    .map((version) => ({
      group,
      version: version.name,
      plural: names.plural,
      kind: names.kind,
      namespaced: scope === 'Namespaced',
      listKind: names.listKind ?? `${names.kind}List`,
      typedItems: true,
      status: version.subresources?.status !== undefined,
      managedFields: true,
      selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
      isTerminating: metadata.deletionTimestamp !== undefined,
      strategy: customStrategy(group, version, names.kind),
    }));
}

function customStrategy(group: string, { name, schema }: DefinitionVersion, kind: string): Strategy {
  const root = schema?.openAPIV3Schema ?? { 'x-kubernetes-preserve-unknown-fields': true };
  const rules = new CelRules(root);
  const statusSchema = root.properties?.status;
  return {
    decode(object, isStrict) {
      assertType(object, `${group}/${name}`, kind);
      const dropped: string[] = [];
      const known = pruned(root, object, dropped) as AnyObject;
      if (isStrict && dropped.length > 0) {
        const fields = dropped.sort().map((path) => `unknown field "${path}"`);
        const why = `${kind} in version "${name}" cannot be handled as a ${kind}: strict decoding error: `;
        throw badRequest(`${why}${fields.join(', ')}`);
      }
      return known;
    },
    prepare: (object) => defaulted(root, object) as AnyObject,
    validate(object, old, { subresource }) {
      const errors =
        subresource === 'status'
          ? statusErrors(statusSchema, object, old)
          : schemaErrors(root, withoutIdentity(object), '', old && withoutIdentity(old));
      errors.push(...newDuplicates(root, object, old));
      if (errors.some(({ reason }) => blocking.includes(reason))) return [...errors, notChecked];
      return [...errors, ...rules.errors(visible(object), old && visible(old))];
    },
  };
}

/** @throws Failure 400 */
function assertType({ apiVersion, kind: given, metadata }: AnyObject, expected: string, kind: string): void {
  if (given === undefined) {
    const text = JSON.stringify({ metadata });
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): Object 'Kind' is missing in '${text}'`,
    );
  }
  if (apiVersion === expected) return;
  const why = `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`;
  throw badRequest(why);
}

const blocking = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
];
const notChecked = invalidValue(
  noField,
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

function statusErrors(
  schema: Schema | undefined,
  object: AnyObject,
  old: AnyObject | undefined,
): FieldError[] {
  if (schema === undefined || object.status === undefined) return [];
  return schemaErrors(schema, object.status, 'status', old?.status);
}

/** Duplicates are not held against an update of what had some. */
function newDuplicates(schema: Schema, object: AnyObject, old: AnyObject | undefined): FieldError[] {
  const errors = duplicateErrors(schema, object, '');
  if (errors.length === 0 || old === undefined) return errors;
  return duplicateErrors(schema, old, '').length === 0 ? errors : [];
}

/** Metadata is validated for all kinds alike. */
function withoutIdentity({ apiVersion, kind, metadata, ...rest }: AnyObject): object {
  return rest;
}

const seen = new WeakMap<object, object>();

/** As the rules of the root see it: of its metadata the names alone. */
function visible(object: AnyObject): object {
  let result = seen.get(object);
  if (result === undefined) {
    const { name, generateName } = object.metadata;
    result = { ...object, metadata: { name, ...(generateName !== undefined && { generateName }) } };
    seen.set(object, result);
  }
  return result;
}

export function isDefinition(object: unknown): object is Definition {
  return isJsonObject(object) && isJsonObject(object.spec) && Array.isArray(object.spec.versions);
}
