/** intstr.IntOrString: a number, or a share such as `25%`. */
import type { IntOrPercent } from './workloads.ts';

/** Scaled to `total`; text that is no share counts as zero. */
export function scaled(value: IntOrPercent, total: number, rounding: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return 0;
  const share = (Number(percent) * total) / 100;
  return rounding === 'up' ? Math.ceil(share) : Math.floor(share);
}
