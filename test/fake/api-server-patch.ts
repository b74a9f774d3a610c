/**
 * Patches of the fake API server: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and as much of
 * server-side apply as controllers notice: ownership per field, conflicts, force, removal of what a
 * manager applies no more. Lists are one field.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../../src/runtime/client/client.ts';
import { Failure } from './api-server-status.ts';

type Json = Readonly<Record<string, unknown>>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const result: Record<string, unknown> = isJson(target) ? { ...target } : {};
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
  let result = structuredClone(document);
  for (const operation of operations) result = applyOperation(result, operation);
  return result;
}

function applyOperation(document: unknown, { op, path, from, value }: JsonPatchOperation): unknown {
  switch (op) {
    case 'test':
      if (!isDeepStrictEqual(lookUp(document, path), value)) throw rejected();
      return document;
    case 'add':
      return set(document, path, structuredClone(value), true);
    case 'replace':
      return set(document, path, structuredClone(value), false);
    case 'remove':
      return remove(document, path);
    case 'copy':
      return set(document, path, structuredClone(lookUp(document, from ?? '')), true);
    case 'move': {
      const moved = lookUp(document, from ?? '');
      return set(remove(document, from ?? ''), path, moved, true);
    }
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

function lookUp(document: unknown, pointer: string): unknown {
  let current = document;
  for (const key of segments(pointer)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) throw rejected();
    current = Reflect.get(current, key);
  }
  return current;
}

function parentOf(document: unknown, pointer: string): { parent: object; key: string } {
  const path = segments(pointer);
  const key = path.pop() ?? '';
  const up = path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const parent = lookUp(document, up);
  if (typeof parent !== 'object' || parent === null) throw rejected();
  return { parent, key };
}

function set(document: unknown, pointer: string, value: unknown, mayBeNew: boolean): unknown {
  if (pointer === '') return value;
  const { parent, key } = parentOf(document, pointer);
  if (!mayBeNew && !Object.hasOwn(parent, key)) throw rejected();
  if (!Array.isArray(parent)) Reflect.set(parent, key, value);
  else if (!mayBeNew) parent[Number(key)] = value;
  else if (key === '-') parent.push(value);
  else if (/^\d+$/.test(key) && Number(key) <= parent.length) parent.splice(Number(key), 0, value);
  else throw rejected();
  return document;
}

function remove(document: unknown, pointer: string): unknown {
  const { parent, key } = parentOf(document, pointer);
  if (!Object.hasOwn(parent, key)) throw rejected();
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else Reflect.deleteProperty(parent, key);
  return document;
}

/** Who has set which field: JSON pointer → managers. */
export type FieldOwners = ReadonlyMap<string, ReadonlySet<string>>;

export interface Applied {
  readonly object: unknown;
  readonly owners: FieldOwners;
}

/** @throws Failure 409 with a cause per field that another manager has set to something else. */
export function applyPatch(
  current: unknown,
  owners: FieldOwners,
  body: unknown,
  manager: string,
  force: boolean,
): Applied {
  const wanted = leaves(body);
  const present = leaves(current);
  const next = new Map([...owners].map(([path, managers]) => [path, new Set(managers)]));
  const conflicts: { path: string; manager: string }[] = [];
  for (const [path, value] of wanted) {
    const managers = next.get(path) ?? new Set();
    const others = [...managers].filter((other) => other !== manager);
    if (others.length > 0 && !isDeepStrictEqual(present.get(path), value)) {
      conflicts.push(...others.map((other) => ({ path, manager: other })));
      managers.clear();
    }
    next.set(path, managers.add(manager));
  }
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  let object = mergePatch(current, body);
  for (const [path, managers] of next) {
    if (wanted.has(path) || !managers.delete(manager) || managers.size > 0) continue;
    next.delete(path);
    if (present.has(path)) object = remove(structuredClone(object), path);
  }
  return { object, owners: next };
}

/** After a write that is no apply: whoever changed a field owns it. */
export function ownersAfterUpdate(
  before: unknown,
  after: unknown,
  owners: FieldOwners,
  manager: string,
): FieldOwners {
  const old = leaves(before);
  const next = new Map<string, ReadonlySet<string>>();
  for (const [path, value] of leaves(after)) {
    const same = old.has(path) && isDeepStrictEqual(old.get(path), value);
    next.set(path, same ? (owners.get(path) ?? new Set([manager])) : new Set([manager]));
  }
  return next;
}

function applyConflict(conflicts: readonly { path: string; manager: string }[]): Failure {
  const causes = conflicts.map(({ path, manager }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${manager}"`,
    field: path.replaceAll('/', '.'),
  }));
  const message = `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}`;
  return new Failure(409, 'Conflict', message, { causes });
}

/** Every field below the object's identity, by JSON pointer; a list is one field. */
function leaves(value: unknown, path = ''): Map<string, unknown> {
  const result = new Map<string, unknown>();
  if (!isJson(value)) return result.set(path, value);
  for (const [key, child] of Object.entries(value)) {
    const childPath = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (isIdentity(childPath)) continue;
    if (isJson(child) && Object.keys(child).length > 0) {
      for (const [leaf, leafValue] of leaves(child, childPath)) result.set(leaf, leafValue);
    } else {
      result.set(childPath, child);
    }
  }
  return result;
}

function isIdentity(path: string): boolean {
  if (path === '/apiVersion' || path === '/kind') return true;
  return (
    path.startsWith('/metadata/') &&
    !/^\/metadata\/(labels|annotations|finalizers|ownerReferences)/.test(path)
  );
}
