/**
 * Resource version: the revision at which the API server last changed an object. Within one resource they
 * are decimal numbers of any length that only grow, so they can be compared (KEP-5504); equality is the
 * only safe question for anything else, such as the opaque strings of some aggregated API servers.
 */
const decimal = /^(?:0|[1-9]\d*)$/;

/**
 * Compares two resourceVersions: negative, zero or positive like a sort function; undefined when either is
 * not a decimal number.
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (!(decimal.test(left) && decimal.test(right))) return undefined;
  if (left.length !== right.length) return left.length - right.length;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** True when `version` is `other` or newer; false when that is unknown. */
export function isAtLeast(version: string, other: string): boolean {
  const order = compareResourceVersions(version, other);
  return order !== undefined && order >= 0;
}
