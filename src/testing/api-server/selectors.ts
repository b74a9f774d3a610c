/**
 * Selectors of a simulated API server: label and field selectors as functions.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { badRequest } from './failure.ts';

export type Match = (object: KubernetesObject) => boolean;
type LabelMatch = (labels: Readonly<Record<string, string>>) => boolean;

const everything: Match = () => true;
const noLabels = {};

/**
 * Both selectors may be empty: then everything matches.
 *
 * @param selectable the fields beyond metadata that objects can be selected by.
 * @throws Failure 400 for a field that is none of them.
 */
export function matcher(labelSelector: string, fieldSelector: string, selectable: readonly string[]): Match {
  if (labelSelector === '' && fieldSelector === '') return everything;
  const labels = splitOutsideParentheses(labelSelector).map(labelMatch);
  const fields =
    fieldSelector === '' ? [] : fieldSelector.split(',').map((term) => fieldMatch(term, selectable));
  return (object) =>
    labels.every((matches) => matches(object.metadata.labels ?? noLabels)) &&
    fields.every((matches) => matches(object));
}

function splitOutsideParentheses(selector: string): string[] {
  return selector.match(/[^,()]+(\([^)]*\))?/g)?.map((term) => term.trim()) ?? [];
}

function labelMatch(term: string): LabelMatch {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (labels) => values.includes(labels[key] ?? '\0') === (operator === 'in');
  }
  const equality = /^(\S+?)\s*(!=|==|=)\s*(\S*)$/.exec(term);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  if (term.startsWith('!')) return (labels) => !(term.slice(1) in labels);
  return (labels) => term in labels;
}

const always = ['metadata.name', 'metadata.namespace'];

function fieldMatch(term: string, selectable: readonly string[]): Match {
  const [, field = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term.trim()) ?? [];
  if (!always.includes(field) && !selectable.includes(field)) {
    throw badRequest(`field label not supported: ${field}`);
  }
  const path = field.split('.');
  return (object) => (String(valueAt(object, path) ?? '') === value) === (operator !== '!=');
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
