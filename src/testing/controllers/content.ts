/** Content of objects: the hash that names a Pod template, and a status as the API writes it. */
import { fnv32a } from '../fnv.ts';

/** The letters and digits that never make a word (apimachinery's rand.SafeEncodeString). */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Up to ten safe characters for a value, the same for the same content. `collisions` gives another one when
 * the first is taken by an other template.
 */
export function templateHash(value: unknown, collisions = 0): string {
  return safe(String(fnv32a(`${canonical(value)}${collisions === 0 ? '' : collisions}`)));
}

function safe(text: string): string {
  let result = '';
  for (let i = 0; i < text.length; i++) result += alphabet[text.charCodeAt(i) % alphabet.length];
  return result;
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`;
}

/** Without the fields that are 0: the API leaves those of a status out whose Go field says `omitempty`. */
export function withoutZeros<T extends object>(status: T, kept: readonly (keyof T)[] = []): T {
  const entries = Object.entries(status).filter(
    ([key, value]) => value !== 0 || kept.includes(key as keyof T),
  );
  return Object.fromEntries(entries) as T;
}
