/**
 * Selector: which objects a label or field selector selects, in the string form that the API's parameters have and
 * as a metav1.LabelSelector.
 */
import type { KubernetesObject } from './objects.ts';

/** Labels of an object: values by key. */
export type Labels = Readonly<Record<string, string>>;

/** metav1.LabelSelectorOperator. */
export type LabelOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

/** In and NotIn have values. NotIn holds where the label is missing, as it does for the API server. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** metav1.LabelSelector. */
export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** `path` is that of the field in the object; `equal` is false for `!=`. */
export interface FieldRequirement {
  readonly path: readonly string[];
  readonly equal: boolean;
  readonly value: string;
}

const equality = /^([^\s!=<>(),]+)\s*(==|=|!=)\s*([^\s!=<>(),]*)$/;
const membership = /^([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const existence = /^(!?)\s*([^\s!=<>(),]+)$/;

/**
 * Reads a label selector: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, joined by commas. All requirements
 * must hold; an empty selector has none.
 *
 * @throws {SyntaxError} when it is not one.
 */
export function parseLabelSelector(selector: string): readonly LabelRequirement[] {
  return splitRequirements(selector).map(labelRequirement);
}

/** The requirements of a metav1.LabelSelector; none for an empty one, which selects everything. */
export function labelRequirements({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): LabelRequirement[] {
  const equalities = Object.entries(matchLabels).map(
    ([key, value]) => ({ key, operator: 'In', values: [value] }) as const,
  );
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (isOperator(operator)) return { key, operator, values };
    throw new RangeError(`"${operator}" is no operator of a label selector`);
  });
  return [...equalities, ...expressions];
}

/** The requirements in the string form. Keys and values must be legal: nothing in them is escaped. */
export function printLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements.map(printRequirement).join(',');
}

/**
 * A metav1.LabelSelector in the string form, as `labelSelector` of lists, watches and informers has it.
 *
 * @throws {SyntaxError} for what the API server would refuse: an unknown operator, a list of values that is empty or
 *   has no place, or a key or value that is none.
 */
export function labelSelectorText(selector: LabelSelector): string {
  const requirements = labelRequirements(selector);
  for (const requirement of requirements) assertLegal(requirement);
  return printLabelSelector(requirements);
}

/** Whether a text is what {@link printLabelSelector} makes of legal requirements, of which there is at least one. */
export function isLabelSelector(text: string): boolean {
  try {
    const requirements = parseLabelSelector(text);
    for (const requirement of requirements) assertLegal(requirement);
    return requirements.length > 0 && printLabelSelector(requirements) === text;
  } catch {
    return false;
  }
}

/**
 * Whether an object has the labels that a selector selects, as a function of the object.
 *
 * @throws {SyntaxError} for a text that is no label selector. @throws {RangeError} for an unknown operator.
 */
export function labelMatcher(selector: string | LabelSelector): (object: KubernetesObject) => boolean {
  const requirements =
    typeof selector === 'string' ? parseLabelSelector(selector) : labelRequirements(selector);
  return ({ metadata }) => matchesLabels(requirements, metadata.labels);
}

/** Whether all requirements hold. */
export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: Labels | null = {},
): boolean {
  return requirements.every((requirement) => holds(requirement, labels ?? {}));
}

/** Whether a metav1.LabelSelector selects these labels. An empty one selects everything, an absent one nothing. */
export function selects(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((expression) => holds(expression, labels))
  );
}

/**
 * Reads a field selector: `a.b=c`, `a.b==c`, `a.b!=c`, joined by commas. The names of selectable fields are their
 * paths, which holds for all that custom resources and Pods have.
 *
 * @throws {SyntaxError} when it is not one.
 */
export function parseFieldSelector(selector: string): readonly FieldRequirement[] {
  return splitRequirements(selector).map(fieldRequirement);
}

/** Whether all requirements hold. A missing field is an empty one. */
export function matchesFields(requirements: readonly FieldRequirement[], object: KubernetesObject): boolean {
  return requirements.every(({ path, equal, value }) => (fieldAt(object, path) === value) === equal);
}

/**
 * Whether an object is in a collection with these selectors, as the API server decides it.
 *
 * @throws {SyntaxError} when one of them is none.
 */
export function matcherOf(labelSelector = '', fieldSelector = ''): (object: KubernetesObject) => boolean {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  return (object) => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object);
}

/** Splits at the commas outside of parentheses. */
function splitRequirements(selector: string): string[] {
  const parts = selector.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function labelRequirement(text: string): LabelRequirement {
  const [, equalKey, sign, value = ''] = equality.exec(text) ?? [];
  if (equalKey !== undefined) {
    return { key: equalKey, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  }
  const [, memberKey, relation, list = ''] = membership.exec(text) ?? [];
  if (memberKey !== undefined) {
    const values = list.split(',').map((member) => member.trim());
    return { key: memberKey, operator: relation === 'in' ? 'In' : 'NotIn', values };
  }
  const [, negation, key] = existence.exec(text) ?? [];
  if (key === undefined) throw new SyntaxError(`"${text}" is no requirement of a label selector`);
  return { key, operator: negation === '!' ? 'DoesNotExist' : 'Exists', values: [] };
}

function printRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
}

const labelKey =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** In the text a comma or a parenthesis would select something else. */
function assertLegal({ key, operator, values }: LabelRequirement): void {
  const hasValues = operator === 'In' || operator === 'NotIn';
  if (!labelKey.test(key)) throw new SyntaxError(`"${key}" is no key of a label`);
  const wrong = values.find((value) => !labelValue.test(value));
  if (wrong !== undefined) throw new SyntaxError(`"${wrong}" is no value of a label`);
  if (hasValues !== values.length > 0) {
    throw new SyntaxError(`${key} ${operator} ${hasValues ? 'needs values' : 'has no values'}`);
  }
}

function isOperator(operator: string): operator is LabelOperator {
  return ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator);
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

/** An unknown operator never holds. */
function holds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function fieldRequirement(text: string): FieldRequirement {
  const [, path, sign, value = ''] = equality.exec(text) ?? [];
  if (path === undefined) throw new SyntaxError(`"${text}" is no requirement of a field selector`);
  return { path: path.split('.'), equal: sign !== '!=', value };
}

function fieldAt(object: object, path: readonly string[]): string {
  let value: unknown = object;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return '';
    value = Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;
  }
  return value === undefined || value === null ? '' : String(value);
}
