/**
 * Status values: what stands in a status, in the type it is to have, or absent. The API server checks types by our
 * CRD, but not by the book's, and an annotation it does not check at all.
 */
import type { Condition } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';

/** A text with something in it. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A whole number from 0 on. */
export function countIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

/** Epoch milliseconds. */
export function instantIn(value: unknown): number | undefined {
  const time = typeof value === 'string' ? parseTime(value) : Number.NaN;
  return Number.isFinite(time) ? time : undefined;
}

/** The value itself, if it is an object; its own values are still to be looked at. */
export function objectIn<T extends object>(value: T | undefined): Partial<T> {
  return typeof value === 'object' && value !== null ? value : {};
}

/** The objects in a list. */
export function objectsIn<T extends object>(list: readonly T[] | undefined): readonly Partial<T>[] {
  return Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];
}

/** The different texts in a list. */
export function textsIn(list: unknown): readonly string[] | undefined {
  return Array.isArray(list) ? [...new Set(list.filter((entry) => typeof entry === 'string'))] : undefined;
}

/** The conditions that are whole. */
export function conditionsIn(list: readonly Condition[] | undefined): readonly Condition[] {
  return objectsIn(list).filter((entry): entry is Condition => {
    const { type, status, reason, message, lastTransitionTime } = entry;
    return [type, status, reason, message, lastTransitionTime].every((value) => typeof value === 'string');
  });
}

/** Set where defined: optional properties stay absent. */
export function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
