/** Patches: what the API server makes of an object and a patch of it. */
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { JsonPatchOperation } from '../../src/runtime/client/patch.ts';

export function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError(message, code, { kind: 'Status', code, reason, message });
}

/** JSON merge patch. */
export function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    return patch;
  }
  const result: Record<string, unknown> = { ...(target as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[key];
    } else {
      result[key] = merge(result[key], value);
    }
  }
  return result;
}

/** JSON Patch, as far as it is used: test and remove. */
export function applied<T>(target: T, operations: readonly JsonPatchOperation[]): T {
  const result = structuredClone(target);
  for (const { op, path, value } of operations) {
    const keys = path.slice(1).split('/');
    const last = keys.pop() ?? '';
    const holder = keys.reduce((one, key) => (one as never)?.[key], result as unknown) as never;
    const isMet = holder !== undefined && (op === 'remove' || isDeepStrictEqual(holder[last], value));
    if (!isMet)
      throw apiError(422, 'Invalid', 'the server rejected our request due to an error in our request');
    if (op === 'remove' && Array.isArray(holder)) (holder as unknown[]).splice(Number(last), 1);
  }
  return result;
}
