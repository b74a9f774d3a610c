/**
 * CEL rules: x-kubernetes-validations of a schema, compiled once and evaluated as the API server does: a rule that
 * uses oldSelf only where there is an old value, no rule on a value that an update left as it was.
 */
import { Environment, Optional } from '@marcbachmann/cel-js';
import { type FieldError, forbiddenValue, requiredValue } from '../failure.ts';
import { equalJson, isJsonObject } from '../json-value.ts';
import { celValue } from './cel-value.ts';
import { joined } from './schema-validator.ts';
import { correlatedField, correlatedItem, type Schema, type ValidationRule } from './structural-schema.ts';

type Program = (context: Record<string, unknown>) => unknown;

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Program;
  readonly message: Program | undefined;
  readonly usesOldSelf: boolean;
}

const plain = new Environment({ unlistedVariablesAreDyn: true });
const parseDuration = plain.parse('duration(text)');

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
})
  .registerFunction('string.find(string): string', (text: string, pattern: string) => {
    return new RegExp(pattern, 'u').exec(text)?.[0] ?? '';
  })
  // Of Go, whose durations may be 0 without a unit and have a sign.
  .registerFunction('goDuration(string): google.protobuf.Duration', (text: string) =>
    parseDuration({ text: text === '0' ? '0s' : text.replace(/^\+/, '') }),
  )
  .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
    text.replaceAll(from, to),
  );

/** The rules of a schema and of all that is in it. */
export class CelRules {
  readonly #schema: Schema;
  readonly #rules: readonly CompiledRule[];
  readonly #fields = new Map<string, CelRules>();
  readonly #items: CelRules | undefined;
  readonly #additional: CelRules | undefined;
  /** Whether there is any rule here or below. */
  readonly isEmpty: boolean;

  /** @throws an error of the CEL parser for a rule that is none. */
  constructor(schema: Schema) {
    this.#schema = schema;
    this.#rules = (schema['x-kubernetes-validations'] ?? []).map(compiled);
    for (const [key, field] of Object.entries(schema.properties ?? {})) {
      const rules = new CelRules(field);
      if (!rules.isEmpty) this.#fields.set(key, rules);
    }
    this.#items = below(schema.items);
    const { additionalProperties } = schema;
    this.#additional = below(typeof additionalProperties === 'object' ? additionalProperties : undefined);
    this.isEmpty = this.#rules.length === 0 && this.#fields.size === 0 && !this.#items && !this.#additional;
  }

  /** @param old the value before an update; undefined: there is none to compare with. */
  errors(value: unknown, old: unknown, path = '', isUnchanged = false): FieldError[] {
    if (value === undefined || value === null) return [];
    const ratcheted = isUnchanged || (old !== undefined && this.#rules.length > 0 && equalJson(value, old));
    const errors = this.#rules.flatMap((rule) => this.#errorsOf(rule, value, old, { path, ratcheted }));
    if (Array.isArray(value)) {
      for (const [index, item] of this.#items ? value.entries() : []) {
        const before = correlatedItem(this.#schema, item, old);
        errors.push(...(this.#items?.errors(item, before, `${path}[${index}]`, ratcheted) ?? []));
      }
    } else if (isJsonObject(value)) {
      for (const [key, rules] of this.#inner(value)) {
        const before = correlatedField(this.#schema, key, old);
        errors.push(...rules.errors(value[key], before, joined(path, key), ratcheted));
      }
    }
    return errors;
  }

  #inner(value: object): Iterable<[string, CelRules]> {
    const additional = this.#additional;
    if (additional === undefined) return this.#fields;
    return Object.keys(value).map((key) => [key, this.#fields.get(key) ?? additional]);
  }

  #errorsOf(
    { rule, program, message, usesOldSelf }: CompiledRule,
    value: unknown,
    old: unknown,
    { path, ratcheted }: { readonly path: string; readonly ratcheted: boolean },
  ): FieldError[] {
    if (usesOldSelf ? old === undefined && !rule.optionalOldSelf : ratcheted) return [];
    const self = celValue(this.#schema, value);
    const before = old === undefined || old === null ? undefined : celValue(this.#schema, old);
    const oldSelf = rule.optionalOldSelf ? Optional.of(before) : before;
    const context = { self, oldSelf };
    try {
      if (program(context) === true) return [];
    } catch (error) {
      const why = `${evaluationText(error)} evaluating rule: ${rule.message ?? rule.rule}`;
      return [invalid(path || '<nil>', JSON.stringify(this.#schema.type ?? ''), why)];
    }
    const says =
      messageOf(message, { self, oldSelf: before }) ?? rule.message?.trim() ?? `failed rule: ${rule.rule}`;
    return [this.#refusal(rule, value, path, says)];
  }

  #refusal(
    { reason, fieldPath = '' }: ValidationRule,
    value: unknown,
    path: string,
    says: string,
  ): FieldError {
    const place = `${path}${fieldPath}`.replace(/^\./, '') || '<nil>';
    const isPlain = typeof value !== 'object';
    switch (reason) {
      case 'FieldValueForbidden':
        return forbiddenValue(place, says);
      case 'FieldValueRequired':
        return requiredValue(place, says);
      case 'FieldValueDuplicate': {
        const message = isPlain ? `Duplicate value: ${JSON.stringify(value)}` : 'Duplicate value';
        return { reason, field: place, message };
      }
      default:
        return invalid(place, isPlain ? JSON.stringify(value) : undefined, says);
    }
  }
}

function below(schema: Schema | undefined): CelRules | undefined {
  if (schema === undefined) return undefined;
  const rules = new CelRules(schema);
  return rules.isEmpty ? undefined : rules;
}

function compiled(rule: ValidationRule): CompiledRule {
  return {
    rule,
    program: environment.parse(rule.rule.replace(/\bduration\(/g, 'goDuration(')),
    message: rule.messageExpression === undefined ? undefined : environment.parse(rule.messageExpression),
    usesOldSelf: /\boldSelf\b/.test(rule.rule),
  };
}

/** Undefined when the expression makes no line of text. */
function messageOf(message: Program | undefined, context: Record<string, unknown>): string | undefined {
  if (message === undefined) return undefined;
  try {
    const text = message(context);
    const trimmed = typeof text === 'string' ? text.trim() : '';
    return trimmed === '' || trimmed.includes('\n') ? undefined : trimmed;
  } catch {
    return undefined;
  }
}

function evaluationText(error: unknown): string {
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
  return line.slice(0, 1).toLowerCase() + line.slice(1);
}

function invalid(field: string, shown: string | undefined, why: string): FieldError {
  const message = shown === undefined ? `Invalid value: ${why}` : `Invalid value: ${shown}: ${why}`;
  return { reason: 'FieldValueInvalid', field, message };
}
