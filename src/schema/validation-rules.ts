/**
 * The rules of the CRDs' `x-kubernetes-validations` as predicates, for objects that reached the store behind
 * a CRD without them. A rule made of `matches()` alone is read from its text; each other one has its twin
 * here under exactly its text, so that an edited rule without its twin fails at once.
 */
import type { AtSpec } from '../api/at.generated.ts';
import type {
  ConfigWatcherSpec,
  ConfigWatcherSpecCooldown,
  ConfigWatcherSpecDebounce,
  ConfigWatcherSpecPodSelectorExpression,
} from '../api/configwatcher.generated.ts';
import { timeZoneNamed } from '../api/zone.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';

/** Whether a value that fits its schema, defaults filled in, keeps the rule. */
export type RulePredicate = (self: never) => boolean;

const labelKey =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
const labelValue = '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$';
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]*$/u;
const duration = '^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$';

const twins: Readonly<Record<string, RulePredicate>> = {
  'oldSelf.hasValue() || size(self.metadata.name) <= 63': (self: KubernetesObject) =>
    self.metadata.name.length <= 63,

  // AtSpec
  "has(self.timeZone) || !self.schedule.matches('T..:..:..([.][0-9]+)?$')": (self: AtSpec) =>
    self.timeZone !== undefined || !/T..:..:..([.][0-9]+)?$/u.test(self.schedule),
  "self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$') && self != 'Local'": (self: string) =>
    zoneName.test(self) && self !== 'Local',
  "!self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$') || timestamp('2000-01-01T00:00:00Z').getFullYear(self) > 0": (
    self: string,
  ) => !zoneName.test(self) || self === 'Local' || timeZoneNamed(self) !== undefined,
  "!has(self.timeZone) || !self.schedule.matches('(Z|[+-][0-9]{2}:[0-9]{2})$')": (self: AtSpec) =>
    self.timeZone === undefined || !/(Z|[+-][0-9]{2}:[0-9]{2})$/u.test(self.schedule),
  'has(self.command) || has(self.argv) || (has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0)':
    (self: AtSpec) =>
      (self.command ?? self.argv) !== undefined || (self.template?.spec?.containers ?? []).length > 0,
  "!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Always'":
    (self: AtSpec) => self.template?.spec?.restartPolicy !== 'Always',
  "!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Never' || self.backoffLimit == 0":
    (self: AtSpec) => self.template?.spec?.restartPolicy !== 'Never' || self.backoffLimit === 0,
  "self[0].matches('[^ \\t\\n]')": (self: readonly string[]) => /[^ \t\n]/u.test(self[0] ?? ''),
  '!has(self.argv) || !has(self.command)': (self: AtSpec) =>
    self.argv === undefined || self.command === undefined,
  '!has(self.argv) || !has(self.shell)': (self: AtSpec) =>
    self.argv === undefined || self.shell === undefined,
  '!has(self.shell) || has(self.command) || has(self.argv)': (self: AtSpec) =>
    self.shell === undefined || (self.command ?? self.argv) !== undefined,
  "!self.matches('^0001-01-01T..:..:.*[+]..:..$') || self.substring(11, 16) >= self.substring(size(self) - 5)":
    (self: string) => !/^0001-01-01T..:..:.*[+]..:..$/u.test(self) || self.slice(11, 16) >= self.slice(-5),
  "!self.matches('^9999-12-31T[0-9]{2}:[0-9]{2}:[^-]*-[0-9]{2}:[0-9]{2}$') || int(self.substring(11, 13)) * 60 + int(self.substring(14, 16)) + int(self.substring(size(self) - 5, size(self) - 3)) * 60 + int(self.substring(size(self) - 2)) < 1440":
    (self: string) =>
      !/^9999-12-31T[0-9]{2}:[0-9]{2}:[^-]*-[0-9]{2}:[0-9]{2}$/u.test(self) ||
      minutes(self.slice(11, 16)) + minutes(self.slice(-5)) < 1440,

  // ConfigWatcherSpec
  'has(self.configMap) || (has(self.sources) && size(self.sources) > 0)': (self: ConfigWatcherSpec) =>
    self.configMap !== undefined || (self.sources ?? []).length > 0,
  "!has(self.configMap) || !has(self.sources) || !self.sources.exists(s, s.kind == 'ConfigMap' && s.name == self.configMap)":
    (self: ConfigWatcherSpec) =>
      !self.sources?.some(({ kind, name }) => kind === 'ConfigMap' && name === self.configMap),
  '!has(self.configMap) || !has(self.sources) || size(self.sources) <= 31': (self: ConfigWatcherSpec) =>
    self.configMap === undefined || (self.sources ?? []).length <= 31,
  '!has(self.keys) || has(self.configMap)': (self: ConfigWatcherSpec) =>
    self.keys === undefined || self.configMap !== undefined,
  [`self.all(k, size(k) <= 317 && k.matches('${labelKey}'))`]: (self: ConfigWatcherSpec['podSelector']) =>
    Object.keys(self).every((key) => key.length <= 317 && new RegExp(labelKey, 'u').test(key)),
  [`self.all(k, self[k].matches('${labelValue}'))`]: (self: ConfigWatcherSpec['podSelector']) =>
    Object.values(self).every((value) => new RegExp(labelValue, 'u').test(value)),
  "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)": (
    self: ConfigWatcherSpecPodSelectorExpression,
  ) => !['In', 'NotIn'].includes(self.operator) || (self.values ?? []).length > 0,
  "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0": (
    self: ConfigWatcherSpecPodSelectorExpression,
  ) => !['Exists', 'DoesNotExist'].includes(self.operator) || (self.values ?? []).length === 0,
  "type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')": (self: number | string) =>
    typeof self === 'number' ? self >= 1 : /^([1-9][0-9]?|100)%$/u.test(self),
  [`[self.quiet, self.max].exists(d, !d.matches('${duration}')) || duration(self.quiet) <= duration(self.max)`]:
    (self: ConfigWatcherSpecDebounce) => isOrdered(self.quiet, self.max),
  [`[self.base, self.max].exists(d, !d.matches('${duration}')) || duration(self.base) <= duration(self.max)`]:
    (self: ConfigWatcherSpecCooldown) => isOrdered(self.base, self.max),
  [`!self.matches('${duration}') || duration(self) > duration('0s')`]: (self: string) =>
    nanoseconds(self) !== 0n,
};

/**
 * The predicate of a rule.
 *
 * @throws {Error} for a rule that is neither made of `matches()` nor has a twin here.
 */
export function predicateOf(rule: string): RulePredicate {
  const predicate = twins[rule] ?? matchesPredicate(rule);
  if (predicate === undefined) {
    throw new Error(`no predicate for the rule ${rule}`);
  }
  return predicate;
}

/** Reads `[!]self[.lowerAscii()].matches('…')`, also several of them joined by `||`. */
function matchesPredicate(rule: string): ((self: string) => boolean) | undefined {
  const terms = rule.split(' || ').map((term) => {
    const parts = /^(!?)self(\.lowerAscii\(\))?\.matches\('([^']*)'\)$/.exec(term);
    if (parts === null) {
      return undefined;
    }
    const [, negation, lower, pattern = ''] = parts;
    const expression = new RegExp(pattern, 'u');
    return (self: string) => expression.test(lower ? self.toLowerCase() : self) === (negation === '');
  });
  return terms.includes(undefined) ? undefined : (self) => terms.some((term) => term?.(self));
}

function isOrdered(shorter = '', longer = ''): boolean {
  const [low, high] = [nanoseconds(shorter), nanoseconds(longer)];
  return low === undefined || high === undefined || low <= high;
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** A duration in the notation of the CRD; undefined when it is none. */
function nanoseconds(text: string): bigint | undefined {
  if (!new RegExp(duration, 'u').test(text)) {
    return undefined;
  }
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(/([0-9]+)(?:[.]([0-9]+))?([a-z]+)/g)) {
    const size = units[unit] ?? 0n;
    total += BigInt(whole) * size + (BigInt(fraction.padEnd(6, '0')) * size) / 1_000_000n;
  }
  return total;
}

/** Minutes of `hh:mm`. */
function minutes(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
}
