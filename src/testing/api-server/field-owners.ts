/**
 * Field owners: who has set which field of an object, as far as controllers notice it: conflicts of server-side
 * apply, force, removal of what a manager applies no more, and metadata.managedFields. A list is one field.
 */
import type { ManagedFieldsEntry } from '../../kubernetes/objects.ts';
import { Failure } from './failure.ts';
import { mergePatch, withoutPath } from './json-patch.ts';
import { equalJson, isJsonObject, type JsonObject } from './json-value.ts';

/** Who writes, and how. */
export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
}

interface Ownership {
  readonly manager: Manager;
  /** JSON Pointers. */
  readonly fields: Set<string>;
  /** RFC 3339, of the last change of a field. */
  time: string;
}

export class FieldOwners {
  readonly #owners: Ownership[];

  constructor(owners: readonly Ownership[] = []) {
    this.#owners = owners.map(({ manager, fields, time }) => ({ manager, fields: new Set(fields), time }));
  }

  copy(): FieldOwners {
    return new FieldOwners(this.#owners);
  }

  /** After a write that is no apply: the manager owns what it changed, and no other does. */
  update(before: unknown, after: unknown, manager: Manager, time: string): void {
    let own: Ownership | undefined;
    compareLeaves(before, after, '', (path, isRemoved) => {
      for (const { fields } of this.#owners) fields.delete(path);
      own ??= this.#of(manager, time);
      own.time = time;
      if (!isRemoved) own.fields.add(path);
    });
  }

  /**
   * Applies a configuration.
   *
   * @returns the object with it.
   * @throws Failure 409 with a cause per field that another manager has set to something else, unless forced.
   */
  apply(
    current: unknown,
    body: JsonObject,
    manager: Manager,
    options: { force: boolean; time: string },
  ): unknown {
    const own = this.#of(manager, options.time);
    const wanted = leaves(body);
    const conflicts = this.#conflictsOf(current, wanted, own);
    if (conflicts.length > 0 && !options.force) throw applyConflict(conflicts);
    for (const { path } of conflicts) {
      for (const other of this.#owners) if (other !== own) other.fields.delete(path);
    }
    const abandoned = [...own.fields].filter((path) => !wanted.has(path));
    for (const path of abandoned) own.fields.delete(path);
    const object = abandoned
      .filter((path) => !this.#owners.some(({ fields }) => fields.has(path)))
      .reduce(withoutPath, mergePatch(current, body));
    for (const path of wanted.keys()) own.fields.add(path);
    if (!equalJson(object, current)) own.time = options.time;
    return object;
  }

  /** What others have set to something else. */
  #conflictsOf(current: unknown, wanted: ReadonlyMap<string, unknown>, own: Ownership): Conflict[] {
    const differing = [...wanted].filter(([path, value]) => !equalJson(leafAt(current, path), value));
    return differing.flatMap(([path]) =>
      this.#owners
        .filter((other) => other !== own && other.fields.has(path))
        .map(({ manager }) => ({ path, manager })),
    );
  }

  /** As metadata.managedFields has it. */
  entries(apiVersion: string): StoredEntry[] {
    return this.#owners
      .filter(({ fields }) => fields.size > 0)
      .map(({ manager: { name, operation, subresource }, fields, time }) => ({
        manager: name,
        operation,
        apiVersion,
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: fieldsV1(fields),
        ...(subresource !== '' && { subresource }),
      }));
  }

  #of(manager: Manager, time: string): Ownership {
    let own = this.#owners.find(
      ({ manager: { name, operation, subresource } }) =>
        name === manager.name && operation === manager.operation && subresource === manager.subresource,
    );
    if (own === undefined) {
      own = { manager, fields: new Set(), time };
      this.#owners.push(own);
    }
    return own;
  }
}

interface StoredEntry extends ManagedFieldsEntry {
  readonly apiVersion: string;
  readonly fieldsType: 'FieldsV1';
}

interface Conflict {
  readonly path: string;
  readonly manager: Manager;
}

function applyConflict(conflicts: readonly Conflict[]): Failure {
  const causes = conflicts.map(({ path, manager }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${manager.name}"`,
    field: path.replaceAll('/', '.'),
  }));
  const fields = causes.map(({ message, field }) => `${message}: ${field}`).join('\n');
  const count = `${causes.length} conflict${causes.length === 1 ? '' : 's'}`;
  return new Failure(409, 'Conflict', `Apply failed with ${count}: ${fields}`, { causes });
}

/** Every field below the object's identity, by JSON Pointer. */
function leaves(value: unknown): Map<string, unknown> {
  const result = new Map<string, unknown>();
  compareLeaves({}, value, '', (path) => result.set(path, leafAt(value, path)));
  return result;
}

type Visit = (path: string, isRemoved: boolean) => void;

/** Visits each field that differs. */
function compareLeaves(before: unknown, after: unknown, path: string, visit: Visit): void {
  if (before === after) return;
  const old = isJsonObject(before) ? before : {};
  const now = isJsonObject(after) ? after : {};
  for (const key in now) {
    if (isOwnable(path, key)) compareField(old[key], now[key], path, key, visit);
  }
  for (const key in old) {
    if (now[key] === undefined && isOwnable(path, key)) compareField(old[key], undefined, path, key, visit);
  }
}

function compareField(before: unknown, after: unknown, path: string, key: string, visit: Visit): void {
  if (before === after) return;
  const isBranch = isBranching(after) || (after === undefined && isBranching(before));
  if (isBranch) {
    // What was no object before is overwritten as a whole.
    if (before !== undefined && !isJsonObject(before)) visit(pathOf(path, key), true);
    compareLeaves(before, after, pathOf(path, key), visit);
  } else if (!equalJson(before, after)) {
    visit(pathOf(path, key), after === undefined);
  }
}

/** An empty object is a field of its own. */
function isBranching(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  for (const _ in value) return true;
  return false;
}

function pathOf(path: string, key: string): string {
  const escaped =
    key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;
  return `${path}/${escaped}`;
}

const ownableMetadata = ['labels', 'annotations', 'finalizers', 'ownerReferences'];

function isOwnable(path: string, key: string): boolean {
  if (path === '') return key !== 'apiVersion' && key !== 'kind';
  return path !== '/metadata' || ownableMetadata.includes(key);
}

function namesOf(path: string): string[] {
  return path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function leafAt(value: unknown, path: string): unknown {
  let current = value;
  for (const name of namesOf(path)) current = isJsonObject(current) ? current[name] : undefined;
  return current;
}

interface FieldTree {
  [name: string]: FieldTree;
}

function fieldsV1(paths: Iterable<string>): FieldTree {
  const root: FieldTree = {};
  for (const path of paths) {
    let node = root;
    for (const name of namesOf(path)) {
      const key = `f:${name}`;
      node[key] ??= {};
      node = node[key];
    }
  }
  return root;
}
