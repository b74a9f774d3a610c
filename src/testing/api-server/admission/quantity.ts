/**
 * Quantities such as `500m`, `2` and `1Gi`, as numbers.
 */

const units: Readonly<Record<string, number>> = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** NaN for what is none. */
export function amountOf(text: string): number {
  const [, number = '', unit = ''] = /^([0-9.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  return Math.round(Number(number || Number.NaN) * (units[unit] ?? Number.NaN) * 1000) / 1000;
}

/** In the largest binary unit, or in thousandths, that makes it a whole number. */
export function quantityText(amount: number): string {
  if (!Number.isInteger(amount)) return `${Math.round(amount * 1000)}m`;
  const unit = ['Ti', 'Gi', 'Mi', 'Ki'].find((name) => amount > 0 && amount % (units[name] ?? 1) === 0);
  return unit === undefined ? String(amount) : `${amount / (units[unit] ?? 1)}${unit}`;
}
