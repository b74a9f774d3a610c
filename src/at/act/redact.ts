/**
 * Redact: an error about a Pod without the words of its command and the values of its environment. The
 * client takes out what the API server quotes in its own form (redact.ts); an admission webhook or policy may quote
 * anything in any form, and Events, logs and status show why a Pod is refused.
 */
import type { Pod } from '../../kubernetes/objects.ts';
import { ApiError, reworded } from '../../runtime/client/api-error.ts';

/** Fields whose texts are the user's own, wherever they stand in a PodSpec. */
const secretFields = new Set(['args', 'command', 'value']);
/** Characters from which on a text is looked for: `true` and `80` stand in many an innocent sentence. */
const shortest = 6;

/** The same error, or a copy that does not quote them. */
export function redact(error: unknown, pod: Pod): unknown {
  if (!(error instanceof ApiError)) {
    return error;
  }
  const literals = [...new Set(literalsOf(pod.spec, false))]
    .filter((text) => text.length >= shortest)
    // One may be a part of another.
    .sort((one, other) => other.length - one.length);
  const message = literals.reduce((text, literal) => text.replaceAll(literal, '…'), error.message);
  if (message === error.message) {
    return error;
  }
  const causes = error.status.details?.causes?.map(({ field = '' }) => ({ field }));
  return reworded(error, message, causes && { causes });
}

function literalsOf(value: unknown, secret: boolean): string[] {
  if (typeof value === 'string') {
    return secret ? [value, JSON.stringify(value).slice(1, -1)] : [];
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Array.isArray(value)
    ? value.flatMap((item) => literalsOf(item, secret))
    : Object.entries(value).flatMap(([field, item]) => literalsOf(item, secret || secretFields.has(field)));
}
