/**
 * Schema validator: what is wrong with an object by its structural schema, worded as the API server words it. What
 * an update leaves as it was is not held against it.
 */
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../failure.ts';
import { equalJson, isJsonObject, type JsonObject } from '../json-value.ts';
import { correlatedField, correlatedItem, fieldSchema, type Schema } from './structural-schema.ts';

/** A place that errors have which are of no field. */
export const noField = '<nil>';

/** @param old the value before an update; undefined: there is none to compare with. */
export function schemaErrors(schema: Schema, value: unknown, path: string, old?: unknown): FieldError[] {
  if (value === null && schema.nullable === true) return [];
  if (old !== undefined && equalJson(value, old)) return [];
  const errors = typeErrors(schema, value, path);
  // A number of the wrong sort is measured all the same.
  if (errors.length > 0 && typeof value !== 'number') return errors;
  if (typeof value === 'string') errors.push(...stringErrors(schema, value, path));
  else if (typeof value === 'number') errors.push(...numberErrors(schema, value, path));
  else if (Array.isArray(value)) errors.push(...arrayErrors(schema, value, path, old));
  else if (isJsonObject(value)) errors.push(...objectErrors(schema, value, path, old));
  return [...errors, ...enumErrors(schema, value, path), ...combinationErrors(schema, value, path)];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typeErrors(schema: Schema, value: unknown, path: string): FieldError[] {
  const types = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : [schema.type ?? ''];
  const actual = typeOf(value);
  if (types[0] === '' || types.includes(actual) || (types[0] === 'number' && actual === 'integer')) return [];
  const isFraction = actual === 'number' && types.length === 1 && types[0] === 'integer';
  if (!isFraction) return [wrongType(path, types.join(','), actual)];
  const { format } = schema;
  const checked = `Checked value must be of type integer ${format ? `with format ${format}` : '(default format)'} in ${path}`;
  const wrong = format ? wrongType(path, format, 'float64') : wrongType(path, 'integer', actual);
  return [wrong, invalidValue(noField, '', checked)];
}

function wrongType(path: string, type: string, shown: string): FieldError {
  const message = `Invalid value: ${JSON.stringify(shown)}: ${path} in body must be of type ${type}: ${JSON.stringify(shown)}`;
  return { reason: 'FieldValueTypeInvalid', field: path, message };
}

const formats: Readonly<Record<string, RegExp>> = {
  'date-time':
    /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/,
  date: /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])$/,
  uuid: /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i,
};

function stringErrors(schema: Schema, value: string, path: string): FieldError[] {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format = '' } = schema;
  const errors: FieldError[] = [];
  const isLong = value.length > maxLength && [...value].length > maxLength;
  if (isLong) {
    const message = `Too long: may not be more than ${maxLength} bytes`;
    errors.push({ reason: 'FieldValueTooLong', field: path, message });
  }
  if ([...value].length < minLength) {
    errors.push(invalidValue(path, value, `${path} in body should be at least ${minLength} chars long`));
  }
  if (pattern !== undefined && !patternOf(pattern).test(value)) {
    errors.push(invalidValue(path, value, `${path} in body should match '${pattern}'`));
  }
  if (formats[format]?.test(value) === false) errors.push(wrongType(path, format, value));
  return errors;
}

const patterns = new Map<string, RegExp>();

function patternOf(text: string): RegExp {
  let pattern = patterns.get(text);
  if (pattern === undefined) {
    pattern = new RegExp(text, 'u');
    patterns.set(text, pattern);
  }
  return pattern;
}

function numberErrors(schema: Schema, value: number, path: string): FieldError[] {
  const { multipleOf, format } = schema;
  const errors: FieldError[] = [];
  if (format === 'int32' && Number.isInteger(value) && (value < -(2 ** 31) || value >= 2 ** 31)) {
    const why = `Checked value must be of type integer with format int32 in ${path}`;
    errors.push(invalidValue(noField, '', why));
  }
  const complaints = boundComplaints(schema, value);
  if (multipleOf !== undefined && value % multipleOf !== 0) complaints.unshift(`a multiple of ${multipleOf}`);
  return [
    ...errors,
    ...complaints.map((why) => invalidValue(path, value, `${path} in body should be ${why}`)),
  ];
}

function boundComplaints(schema: Schema, value: number): string[] {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const { exclusiveMinimum, exclusiveMaximum } = schema;
  const complaints: string[] = [];
  if (value > maximum || (exclusiveMaximum && value === maximum)) {
    complaints.push(`less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  }
  if (value < minimum || (exclusiveMinimum && value === minimum)) {
    complaints.push(`greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
  }
  return complaints;
}

function tooMany(path: string, count: number, most: number): FieldError {
  const message = `Too many: ${count}: must have at most ${most} items`;
  return { reason: 'FieldValueTooMany', field: path, message };
}

function arrayErrors(schema: Schema, value: readonly unknown[], path: string, old: unknown): FieldError[] {
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const errors: FieldError[] = [];
  if (value.length > maxItems) errors.push(tooMany(path, value.length, maxItems));
  if (value.length < minItems) {
    errors.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (items === undefined) return errors;
  const ofItems = value.map((item, index) =>
    schemaErrors(items, item, `${path}[${index}]`, correlatedItem(schema, item, old)),
  );
  return [...errors, ...ofItems.flat()];
}

function objectErrors(schema: Schema, value: JsonObject, path: string, old: unknown): FieldError[] {
  const { required = [], minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const count = Object.keys(value).length;
  const errors: FieldError[] = [];
  if (count > maxProperties) errors.push(tooMany(path, count, maxProperties));
  if (count < minProperties) {
    errors.push(
      invalidValue(path, count, `${path} in body should have at least ${minProperties} properties`),
    );
  }
  for (const key of required) if (value[key] === undefined) errors.push(requiredValue(joined(path, key)));
  for (const key in value) {
    const field = fieldSchema(schema, key);
    if (field === undefined || value[key] === undefined) continue;
    errors.push(...schemaErrors(field, value[key], joined(path, key), correlatedField(schema, key, old)));
  }
  return errors;
}

function enumErrors({ enum: allowed }: Schema, value: unknown, path: string): FieldError[] {
  if (allowed === undefined || allowed.some((one) => equalJson(one, value))) return [];
  return [unsupportedValue(path, value, allowed.map(String))];
}

function combinationErrors(schema: Schema, value: unknown, path: string): FieldError[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const errors = allOf.flatMap((one) => schemaErrors(one, value, path));
  const complain = (why: string) => errors.push(invalidValue(noField, '', `"${path}" must ${why}`));
  const alternatives = (of: readonly Schema[]) => of.map((one) => schemaErrors(one, value, path));
  if (anyOf.length > 0) {
    const failures = alternatives(anyOf);
    if (failures.every(({ length }) => length > 0)) {
      complain('validate at least one schema (anyOf)');
      errors.push(...(failures[0] ?? []));
    }
  }
  if (oneOf.length > 0) {
    const failures = alternatives(oneOf);
    const valid = failures.filter(({ length }) => length === 0).length;
    const found = valid === 0 ? 'none valid' : `${valid} valid alternatives`;
    if (valid !== 1) complain(`validate one and only one schema (oneOf). Found ${found}`);
    if (valid === 0) errors.push(...(failures[0] ?? []));
  }
  if (not !== undefined && schemaErrors(not, value, path).length === 0)
    complain('not validate the schema (not)');
  return errors;
}

/** Duplicates in lists that are sets or maps. */
export function duplicateErrors(schema: Schema, value: unknown, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    const inner = value.flatMap((item, index) => duplicateErrors(items, item, `${path}[${index}]`));
    return [...duplicatesOf(schema, value, path), ...inner];
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value).flatMap((key) => {
    const field = fieldSchema(schema, key);
    return field === undefined ? [] : duplicateErrors(field, value[key], joined(path, key));
  });
}

function duplicatesOf(schema: Schema, list: readonly unknown[], path: string): FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identityOf = (item: unknown) =>
    type === 'map' && isJsonObject(item) ? Object.fromEntries(keys.map((key) => [key, item[key]])) : item;
  const seen = new Set<string>();
  return list.flatMap((item, index) => {
    const text = JSON.stringify(identityOf(item));
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [
      { reason: 'FieldValueDuplicate', field: `${path}[${index}]`, message: `Duplicate value: ${text}` },
    ];
  });
}

export function joined(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
