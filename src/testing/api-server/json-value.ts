/**
 * JSON values as they are compared and walked: immutable, of plain objects, arrays and primitives.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deep equality. A field that is undefined counts as absent. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b);
  return !Array.isArray(b) && equalObjects(a as JsonObject, b as JsonObject);
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
}

function equalObjects(a: JsonObject, b: JsonObject): boolean {
  let fields = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    if (!equalJson(value, b[key])) return false;
    fields++;
  }
  for (const key in b) if (b[key] !== undefined) fields--;
  return fields === 0;
}
