/** Label selector: metav1.LabelSelector against labels. An empty one selects everything, an absent one nothing. */
import type { LabelSelector, LabelSelectorRequirement, Labels } from './objects.ts';

export function selects(selector: LabelSelector | undefined, labels: Labels | undefined = {}): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => own(labels, key) === value) &&
    matchExpressions.every((requirement) => holds(requirement, labels))
  );
}

function own(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds({ key, operator, values = [] }: LabelSelectorRequirement, labels: Labels): boolean {
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
    default:
      return false;
  }
}
