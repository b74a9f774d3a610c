/** Percentile: the value below which a share of the measurements lie. */
import { median } from '../../hack/benchmarks/results.ts';

/** @param share 0.5 for the median; the values need not be in order. */
export function percentile(values: readonly number[], share: number): number {
  if (share === 0.5) return median(values);
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
