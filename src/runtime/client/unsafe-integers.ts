/**
 * Unsafe integers: those beyond ±(2^53 − 1), which a JavaScript number cannot hold exactly. The API server keeps 64
 * bits, so such a number may be another one than it was when the object was read.
 */

/** Most texts have none, and this is quick to see. */
const longNumber = /\d{16}/;

/**
 * Where the first one is, such as `spec.limits[0].bytes`; undefined when there is none.
 *
 * @param text the JSON of `value`, which is looked at first.
 */
export function unsafeInteger(value: unknown, text: string): string | undefined {
  return longNumber.test(text) ? find(value, '') : undefined;
}

function find(value: unknown, path: string): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    const found = find(
      child,
      Array.isArray(value) ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}
