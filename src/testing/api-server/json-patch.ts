/**
 * JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Both return new values and share what did not change.
 */
import { Failure } from './failure.ts';
import { equalJson, isJsonObject } from './json-value.ts';

/** One operation of RFC 6902. `path` and `from` are JSON Pointers. */
export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

function rejected(): Failure {
  return new Failure(422, 'Invalid', 'the server rejected our request due to an error in our request');
}

/** @throws Failure 422 when a test fails or a path is not there, as the API server does. */
export function jsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  return operations.reduce(applyOperation, document);
}

function applyOperation(document: unknown, { op, path, from = '', value }: JsonPatchOperation): unknown {
  const keys = segments(path);
  switch (op) {
    case 'test':
      if (!equalJson(lookUp(document, keys), value)) throw rejected();
      return document;
    case 'add':
      return changed(document, keys, (parent, key) => inserted(parent, key, value), value);
    case 'replace':
      return changed(document, keys, (parent, key) => replaced(parent, key, value), value);
    case 'remove':
      return changed(document, keys, removed, undefined);
    case 'copy': {
      const copied = lookUp(document, segments(from));
      return changed(document, keys, (parent, key) => inserted(parent, key, copied), copied);
    }
    case 'move': {
      const moved = lookUp(document, segments(from));
      const rest = changed(document, segments(from), removed, undefined);
      return changed(rest, keys, (parent, key) => inserted(parent, key, moved), moved);
    }
    default:
      throw rejected();
  }
}

function segments(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw rejected();
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function child(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) throw rejected();
  return Reflect.get(value, key);
}

function lookUp(document: unknown, keys: readonly string[]): unknown {
  return keys.reduce(child, document);
}

type ParentChange = (parent: object, key: string) => object;

/** The document with the parent of the path changed. `whole` is the new document when the path is empty. */
function changed(document: unknown, keys: readonly string[], change: ParentChange, whole: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return whole;
  if (rest.length > 0) return withChild(document, key, changed(child(document, key), rest, change, whole));
  if (typeof document !== 'object' || document === null) throw rejected();
  return change(document, key);
}

function withChild(parent: unknown, key: string, value: unknown): object {
  return Array.isArray(parent) ? parent.with(Number(key), value) : { ...(parent as object), [key]: value };
}

function inserted(parent: object, key: string, value: unknown): object {
  if (!Array.isArray(parent)) return { ...parent, [key]: value };
  if (key === '-') return [...parent, value];
  if (!/^\d+$/.test(key) || Number(key) > parent.length) throw rejected();
  return parent.toSpliced(Number(key), 0, value);
}

function replaced(parent: object, key: string, value: unknown): object {
  child(parent, key);
  return withChild(parent, key, value);
}

function removed(parent: object, key: string): object {
  child(parent, key);
  if (Array.isArray(parent)) return parent.toSpliced(Number(key), 1);
  const { [key]: _, ...rest } = parent as Record<string, unknown>;
  return rest;
}

/** The value without what a JSON Pointer names; the same value when it is not there. */
export function withoutPath(value: unknown, pointer: string): unknown {
  try {
    return changed(value, segments(pointer), removed, undefined);
  } catch {
    return value;
  }
}
