/**
 * CEL value: a value of an object as a rule sees it. Integers are integers by the schema, not by their looks, and
 * names that CEL cannot say are escaped.
 */
import type { JsonObject } from '../json-value.ts';
import { fieldSchema, type Schema } from './structural-schema.ts';

/** What was made of objects and lists, which are immutable and mostly the same from version to version. */
const made = new WeakMap<Schema, WeakMap<object, unknown>>();
const unknown: Schema = {};

export function celValue(schema: Schema, value: unknown): unknown {
  if (typeof value === 'number') return celNumber(schema, value);
  if (typeof value === 'string') return celString(schema, value);
  if (typeof value !== 'object' || value === null) return value;
  let known = made.get(schema);
  if (known === undefined) {
    known = new WeakMap();
    made.set(schema, known);
  }
  let result = known.get(value);
  if (result === undefined) {
    result = Array.isArray(value) ? celList(schema, value) : celObject(schema, value as JsonObject);
    known.set(value, result);
  }
  return result;
}

function celNumber({ type }: Schema, value: number): number | bigint {
  return type !== 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

function celString({ format }: Schema, value: string): string | Date {
  return format === 'date-time' ? new Date(value) : value;
}

function celList({ items = unknown }: Schema, value: readonly unknown[]): unknown[] {
  return value.map((item) => celValue(items, item));
}

function celObject(schema: Schema, value: JsonObject): object {
  const result: Record<string, unknown> = {};
  const isMap = typeof schema.additionalProperties === 'object';
  for (const key in value) {
    if (value[key] === undefined) continue;
    result[isMap ? key : escaped(key)] = celValue(fieldSchema(schema, key) ?? unknown, value[key]);
  }
  return result;
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function escaped(key: string): string {
  if (reserved.has(key)) return `__${key}__`;
  if (/^[A-Za-z][A-Za-z0-9]*$/.test(key)) return key;
  return key
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}
