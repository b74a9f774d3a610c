/**
 * MicroTime: the instants of Leases and Events, which the API server accepts only with exactly six
 * fraction digits (metav1.MicroTime); JavaScript's own three would be refused.
 */

/**
 * RFC 3339 in UTC with six fraction digits: `2024-01-01T00:00:00.123000Z`.
 *
 * @param epochMs epoch milliseconds; fractions are cut at a microsecond.
 */
export function microTime(epochMs: number): string {
  const millis = Math.floor(epochMs);
  const micros = Math.floor((epochMs - millis) * 1000);
  return `${new Date(millis).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}
