/**
 * Selector: whether an object is in what an informer watches. The API server decides that for what it
 * sends; the informer has to decide it itself for what this process writes.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';

type Labels = Readonly<Record<string, string>>;
type Requirement<T> = (subject: T) => boolean;

const equality = /^([^\s!=<>(),]+)\s*(==|=|!=)\s*([^\s!=<>(),]*)$/;
const membership = /^([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const existence = /^(!?)\s*([^\s!=<>(),]+)$/;

/**
 * Reads a label selector in the API's string form: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`,
 * joined by commas. `!=` and `notin` hold where the label is missing, as they do for the API server.
 *
 * @throws {SyntaxError} when it is not one.
 */
export function parseLabelSelector(selector: string): (labels: Labels | null | undefined) => boolean {
  const requirements = splitRequirements(selector).map(labelRequirement);
  return (labels) => requirements.every((holds) => holds(labels ?? {}));
}

/**
 * Reads a field selector: `a.b=c`, `a.b==c`, `a.b!=c`, joined by commas. A missing field is an empty one.
 * The names of selectable fields are their paths, which holds for all that custom resources and Pods have.
 *
 * @throws {SyntaxError} when it is not one.
 */
export function parseFieldSelector(selector: string): (object: KubernetesObject) => boolean {
  const requirements = splitRequirements(selector).map(fieldRequirement);
  return (object) => requirements.every((holds) => holds(object));
}

/** Splits at the commas outside of parentheses. */
function splitRequirements(selector: string): string[] {
  const parts = selector.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function labelRequirement(text: string): Requirement<Labels> {
  const [, equalKey, operator, value] = equality.exec(text) ?? [];
  if (equalKey !== undefined)
    return (labels) => (labelOf(labels, equalKey) === value) === (operator !== '!=');
  const [, memberKey, relation, list = ''] = membership.exec(text) ?? [];
  if (memberKey !== undefined) {
    const values = new Set<string | undefined>(list.split(',').map((member) => member.trim()));
    return (labels) => values.has(labelOf(labels, memberKey)) === (relation === 'in');
  }
  const [, negation, key] = existence.exec(text) ?? [];
  if (key === undefined) throw new SyntaxError(`"${text}" is no requirement of a label selector`);
  return (labels) => (labelOf(labels, key) === undefined) === (negation === '!');
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function fieldRequirement(text: string): Requirement<KubernetesObject> {
  const [, path, operator, value = ''] = equality.exec(text) ?? [];
  if (path === undefined) throw new SyntaxError(`"${text}" is no requirement of a field selector`);
  const steps = path.split('.');
  return (object) => (fieldAt(object, steps) === value) === (operator !== '!=');
}

function fieldAt(object: object, steps: readonly string[]): string {
  let value: unknown = object;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return '';
    value = Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;
  }
  return value === undefined || value === null ? '' : String(value);
}
