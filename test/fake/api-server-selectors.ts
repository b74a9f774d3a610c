/**
 * Selectors of the fake API server: label and field selectors as functions.
 */
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { badRequest } from './api-server-status.ts';

export type Match = (object: KubernetesObject) => boolean;
type LabelMatch = (labels: Readonly<Record<string, string>>) => boolean;

/** Both may be empty: then everything matches. @throws Failure for a field that cannot be selected by. */
export function matcher(labelSelector: string, fieldSelector: string): Match {
  const labels = splitOutsideParentheses(labelSelector).map(labelMatch);
  const fields = fieldSelector === '' ? [] : fieldSelector.split(',').map(fieldMatch);
  return (object) =>
    labels.every((matches) => matches(object.metadata.labels ?? {})) &&
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

const selectable = ['metadata.name', 'metadata.namespace', 'spec.nodeName', 'status.phase', 'type'];

function fieldMatch(term: string): Match {
  const [, field = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term.trim()) ?? [];
  if (!selectable.includes(field)) throw badRequest(`field label not supported: ${field}`);
  return (object) => (String(valueAt(object, field.split('.')) ?? '') === value) === (operator !== '!=');
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
