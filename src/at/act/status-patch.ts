/**
 * Status patch: what has to change for a status to become an other one, as a JSON merge patch that is bound
 * to the version of the At it was decided from.
 */
import { isDeepStrictEqual } from 'node:util';
import type { At, AtStatus } from '../../api/at.generated.ts';
import type { StatusBody } from '../../runtime/client/patch.ts';

/**
 * The body of a merge patch for the status subresource; undefined when nothing changes. It carries the
 * resourceVersion: an At that has changed since, or is another one of the same name, is not touched.
 */
export function statusPatch(at: At, status: AtStatus): StatusBody<object> | undefined {
  const before: Readonly<Record<string, unknown>> = { ...at.status };
  const after: Readonly<Record<string, unknown>> = { ...status };
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...fields].filter((field) => !isDeepStrictEqual(before[field], after[field]));
  if (changed.length === 0) {
    return undefined;
  }
  // In a merge patch null removes a field.
  const changes = Object.fromEntries(changed.map((field) => [field, after[field] ?? null]));
  return { metadata: { resourceVersion: at.metadata.resourceVersion }, status: changes };
}
