/** Numbers as the dashboard's units show them. Pure. */

const scaled = (value: number, steps: readonly (readonly [number, string])[]): string => {
  const [size = 1, name = ''] = steps.find(([from]) => Math.abs(value) >= from) ?? steps.at(-1) ?? [];
  return `${Number((value / size).toPrecision(3))}${name}`;
};

const seconds = [
  ...([
    [3600, ' h'],
    [60, ' min'],
    [1, ' s'],
    [1e-3, ' ms'],
  ] as const),
  [1e-6, ' µs'] as const,
];
const bytes = [
  [2 ** 30, ' GiB'] as const,
  [2 ** 20, ' MiB'] as const,
  [2 ** 10, ' KiB'] as const,
  [1, ' B'] as const,
];
const counts = [[1e6, ' Mil'] as const, [1e3, ' K'] as const, [1, ''] as const];

/** @param unit of Grafana: short, s, bytes, ops or reqps. */
export function formatValue(value: number, unit: string): string {
  if (value === 0) return unit === 's' ? '0 s' : unit === 'bytes' ? '0 B' : `0${suffixes[unit] ?? ''}`;
  if (unit === 's') return scaled(value, seconds);
  if (unit === 'bytes') return scaled(value, bytes);
  return `${scaled(value, counts)}${suffixes[unit] ?? ''}`;
}

const suffixes: Readonly<Record<string, string>> = { ops: ' ops/s', reqps: ' req/s' };

/** The top of an axis on which `value` has its place: 1, 2 or 5 times a power of ten. */
export function niceMaximum(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return Number((factor * power).toPrecision(3));
}
