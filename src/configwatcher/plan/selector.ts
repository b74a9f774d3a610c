/**
 * Selector: which Pods a watcher restarts, by their labels. An empty `podSelector` selects nothing, unlike
 * an empty LabelSelector, which would select every Pod of the namespace.
 */
import {
  type LabelRequirement,
  type Labels,
  labelRequirements,
  printLabelSelector,
  selects as selectsLabels,
} from '../../kubernetes/selector.ts';

export interface PodSelector {
  /** All must match. Empty: no Pod is selected. */
  readonly labels: Labels;
  /** All must hold as well. */
  readonly expressions: readonly LabelRequirement[];
}

/** Whether Pods with these labels are selected. */
export function selects(selector: PodSelector, labels: Labels | undefined): boolean {
  const { labels: matchLabels, expressions: matchExpressions } = selector;
  return !isEmpty(selector) && selectsLabels({ matchLabels, matchExpressions }, labels);
}

/**
 * The selector as the API server's `labelSelector` parameter. Its parts are known to be legal label keys
 * and values (readSpec), so none can smuggle in a comma.
 *
 * @throws {RangeError} for an empty selector: as a parameter it would select every Pod.
 */
export function labelSelectorOf(selector: PodSelector): string {
  if (isEmpty(selector)) throw new RangeError('an empty podSelector selects nothing');
  const { labels: matchLabels, expressions: matchExpressions } = selector;
  return printLabelSelector(labelRequirements({ matchLabels, matchExpressions }));
}

function isEmpty({ labels }: PodSelector): boolean {
  return Object.keys(labels).length === 0;
}
