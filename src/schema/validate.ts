/**
 * Validation of an object against its CRD's own schema. The API server has done this already unless a CRD
 * without the schema (the book's own, say) was in its place when the object was stored.
 */
import type { ErrorObject } from 'ajv';
import { type At, atSchema } from '../api/at.generated.ts';
import { type ConfigWatcher, configWatcherSchema } from '../api/configwatcher.generated.ts';
import { checkAtSchema, checkConfigWatcherSchema, type SchemaCheck } from './schema-checks.ts';
import { predicateOf, type RulePredicate } from './validation-rules.ts';

/** One thing that is wrong with an object. */
export interface Problem {
  /** Where, such as `spec.windows[0].schedule`. */
  readonly path: string;
  /** What, as the rest of a sentence: `must have the five fields of a cron schedule`. */
  readonly message: string;
}

export interface Validation<T> {
  /** A copy with the defaults filled in. It has the shape of `T` only when there are no problems. */
  readonly object: T;
  readonly problems: readonly Problem[];
}

/** A list of a million wrong items needs no million sentences. */
const maxProblems = 20;

export const validateAt: (object: object) => Validation<At> = validator(checkAtSchema, atSchema);
export const validateConfigWatcher: (object: object) => Validation<ConfigWatcher> = validator(
  checkConfigWatcherSchema,
  configWatcherSchema,
);

/** The problems in one line for a condition: at most `limit` characters. */
export function problemText(problems: readonly Problem[], limit = 1024): string {
  const text = problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** The part of a schema that the walk over the rules reads. */
interface RuleSchema {
  readonly properties?: Readonly<Record<string, RuleSchema>>;
  readonly items?: RuleSchema;
  readonly 'x-kubernetes-validations'?: readonly Rule[];
}

interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

function validator<T>(
  fitsSchema: SchemaCheck,
  schema: Readonly<Record<string, unknown>>,
): (object: object) => Validation<T> {
  const checkRules = ruleCheck(schema);
  return (object) => {
    const copy: T = structuredClone(object) as T;
    if (!fitsSchema(copy)) {
      // The rules trust the schema: over a value of the wrong type or size they would only stumble.
      return { object: copy, problems: (fitsSchema.errors ?? []).slice(0, maxProblems).map(problemOf) };
    }
    return { object: copy, problems: checkRules(copy, '') };
  };
}

function problemOf({ instancePath, keyword, params, message = 'is not valid' }: ErrorObject): Problem {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
    .replaceAll('~1', '/');
  switch (keyword) {
    case 'required':
      return { path: joined(path, `.${params.missingProperty}`), message: 'is required' };
    case 'enum':
      return { path, message: `must be one of ${params.allowedValues.join(', ')}` };
    default:
      return { path, message: message.replace('NOT', 'not') };
  }
}

type RuleCheck = (value: unknown, path: string) => Problem[];

/** All rules of a schema as one function; the predicates are looked up once. */
function ruleCheck(schema: RuleSchema): RuleCheck {
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule): [Rule, RulePredicate] => [
    rule,
    predicateOf(rule.rule),
  ]);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]): [string, RuleCheck] => [
    name,
    ruleCheck(property),
  ]);
  const items = schema.items && ruleCheck(schema.items);
  return (value, path) => {
    const problems = rules
      .filter(([, predicate]) => !predicate(value as never))
      .map(([{ fieldPath, message }]) => ({ path: joined(path, fieldPath ?? ''), message }));
    for (const [name, check] of fields) {
      const field = (value as Readonly<Record<string, unknown>>)[name];
      if (field !== undefined) {
        problems.push(...check(field, joined(path, `.${name}`)));
      }
    }
    if (items && Array.isArray(value)) {
      problems.push(...value.flatMap((item, index) => items(item, `${path}[${index}]`)));
    }
    return problems;
  };
}

function joined(path: string, rest: string): string {
  return path === '' ? rest.replace('.', '') : path + rest;
}
