/**
 * Selectors of a simulated API server: label and field selectors as functions.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from '../../kubernetes/selector.ts';
import { badRequest } from './failure.ts';

export type Match = (object: KubernetesObject) => boolean;

const everything: Match = () => true;

/**
 * Both selectors may be empty: then everything matches.
 *
 * @param selectable the fields beyond metadata that objects can be selected by.
 * @throws Failure 400 for what is no selector, and for a field that objects cannot be selected by.
 */
export function matcher(labelSelector: string, fieldSelector: string, selectable: readonly string[]): Match {
  if (labelSelector === '' && fieldSelector === '') return everything;
  const labels = parsed(parseLabelSelector, labelSelector);
  const fields = parsed(parseFieldSelector, fieldSelector);
  for (const { path } of fields) assertSelectable(path.join('.'), selectable);
  return (object) => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object);
}

function parsed<R>(parse: (selector: string) => R, selector: string): R {
  try {
    return parse(selector);
  } catch (error) {
    throw error instanceof SyntaxError ? badRequest(`unable to parse requirement: ${error.message}`) : error;
  }
}

const always = ['metadata.name', 'metadata.namespace'];

function assertSelectable(field: string, selectable: readonly string[]): void {
  if (always.includes(field) || selectable.includes(field)) return;
  throw badRequest(`field label not supported: ${field}`);
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
