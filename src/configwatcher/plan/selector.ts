/**
 * Selector: which Pods a watcher restarts, by their labels. An empty `podSelector` selects nothing, unlike
 * an empty LabelSelector, which would select every Pod of the namespace.
 */

export type SelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

export interface SelectorExpression {
  readonly key: string;
  readonly operator: SelectorOperator;
  readonly values: readonly string[];
}

export interface PodSelector {
  /** All must match. Empty: no Pod is selected. */
  readonly labels: Readonly<Record<string, string>>;
  /** All must hold as well. */
  readonly expressions: readonly SelectorExpression[];
}

type Labels = Readonly<Record<string, string>>;

function own(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds({ key, operator, values }: SelectorExpression, labels: Labels): boolean {
  const value = own(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** Whether Pods with these labels are selected. */
export function selects(selector: PodSelector, labels: Labels | undefined = {}): boolean {
  const wanted = Object.entries(selector.labels);
  return (
    wanted.length > 0 &&
    wanted.every(([key, value]) => own(labels, key) === value) &&
    selector.expressions.every((expression) => holds(expression, labels))
  );
}

/**
 * The selector as the API server's `labelSelector` parameter. Its parts are known to be legal label keys
 * and values (readSpec), so none can smuggle in a comma.
 *
 * @throws {RangeError} for an empty selector: as a parameter it would select every Pod.
 */
export function labelSelectorOf(selector: PodSelector): string {
  const labels = Object.entries(selector.labels);
  if (labels.length === 0) throw new RangeError('an empty podSelector selects nothing');
  return [...labels.map(([key, value]) => `${key}=${value}`), ...selector.expressions.map(parameterOf)].join(
    ',',
  );
}

function parameterOf({ key, operator, values }: SelectorExpression): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
}
