/**
 * Structural schema: the part of OpenAPI v3 in which a CustomResourceDefinition says what its objects look like,
 * and what the API server makes of an object before it validates it: it drops and it fills in.
 */
import { isJsonObject, type JsonObject } from '../json-value.ts';

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
}

/** The schema of a field; undefined when the schema does not know it. */
export function fieldSchema({ properties, additionalProperties }: Schema, key: string): Schema | undefined {
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const identity = ['apiVersion', 'kind', 'metadata'];

/**
 * Values that are pruned and defaulted, by the schema that they are so under. Objects are immutable and share what
 * did not change with the version before, so that most of an object need not be looked at again.
 */
const settled = new WeakMap<object, Schema>();

/**
 * The value without fields that the schema does not know and without null where there must be a value.
 *
 * @param dropped takes the paths of unknown fields.
 */
export function pruned(schema: Schema, value: unknown, dropped: string[], path = ''): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    return value.map((item, index) => pruned(items, item, dropped, `${path}[${index}]`));
  }
  if (!isJsonObject(value) || settled.get(value) === schema) return value;
  const result: Record<string, unknown> = {};
  const hasIdentity = path === '' || schema['x-kubernetes-embedded-resource'] === true;
  for (const key in value) {
    const isKept = (hasIdentity && identity.includes(key)) || keepsUnknown(schema, key);
    const field = isKept ? value[key] : prunedField(schema, key, value[key], { dropped, path });
    if (field !== undefined) result[key] = field;
  }
  return result;
}

/** Undefined when the field is dropped. */
function prunedField(
  schema: Schema,
  key: string,
  value: unknown,
  { dropped, path }: { readonly dropped: string[]; readonly path: string },
): unknown {
  const known = fieldSchema(schema, key);
  const fieldPath = path === '' ? key : `${path}.${key}`;
  if (known === undefined) {
    dropped.push(fieldPath);
    return undefined;
  }
  return value === null && known.nullable !== true ? undefined : pruned(known, value, dropped, fieldPath);
}

function keepsUnknown(schema: Schema, key: string): boolean {
  if (fieldSchema(schema, key) !== undefined) return false;
  return schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
}

/** The value with the defaults of what is absent. */
export function defaulted(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => defaulted(items, item));
  }
  if (!isJsonObject(value) || settled.get(value) === schema) return value;
  const result: Record<string, unknown> = { ...value };
  for (const key in schema.properties)
    result[key] = result[key] === undefined ? schema.properties[key]?.default : result[key];
  for (const key in result) {
    const field = fieldSchema(schema, key);
    if (result[key] === undefined) delete result[key];
    else if (field !== undefined) result[key] = defaulted(field, result[key]);
  }
  settled.set(result, schema);
  return result;
}

/**
 * The item of an old list that is the same as an item of the new one: in a list of type `map` the one with the
 * same keys. Items of other lists are not told apart.
 */
export function correlatedItem(schema: Schema, item: unknown, old: unknown): unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined || !Array.isArray(old))
    return undefined;
  if (!isJsonObject(item)) return undefined;
  return old.find((other) => isJsonObject(other) && keys.every((key) => other[key] === item[key]));
}

/** The field of an old object; undefined where the object counts as one value. */
export function correlatedField(schema: Schema, key: string, old: unknown): unknown {
  if (schema['x-kubernetes-map-type'] === 'atomic' || !isJsonObject(old)) return undefined;
  return (old as JsonObject)[key];
}
