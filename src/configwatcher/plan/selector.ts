/**
 * Selector: which Pods a watcher restarts, by their labels. An empty `podSelector` selects nothing, unlike
 * an empty LabelSelector, which would select every Pod of the namespace.
 */
import {
  isLabelSelector,
  type LabelSelector,
  type Labels,
  labelRequirements,
  printLabelSelector,
  selects as selectsLabels,
} from '../../kubernetes/selector.ts';

/** Whether Pods with these labels are selected. */
export function selects(selector: LabelSelector, labels: Labels | undefined): boolean {
  return !isEmpty(selector) && selectsLabels(selector, labels);
}

/**
 * The selector as the API server's `labelSelector` parameter. Its parts are known to be legal label keys
 * and values (readSpec), so none can smuggle in a comma.
 *
 * @throws {RangeError} for an empty selector: as a parameter it would select every Pod.
 */
export function labelSelectorOf(selector: LabelSelector): string {
  if (isEmpty(selector)) throw new RangeError('an empty podSelector selects nothing');
  return printLabelSelector(labelRequirements(selector));
}

/** Characters of a selector that a status keeps. */
const maxKept = 512;

/** The selector as a status keeps it; undefined where it is too long for that. */
export function keptSelector(selector: LabelSelector): string | undefined {
  const text = labelSelectorOf(selector);
  return text.length > maxKept ? undefined : text;
}

/** Whether a text is one that {@link keptSelector} may have made. */
export function isKeptSelector(text: string): boolean {
  return text.length <= maxKept && isLabelSelector(text);
}

function isEmpty({ matchLabels = {} }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0;
}
