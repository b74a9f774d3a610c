/**
 * Prints the TypeScript of one CRD: an interface per object of the schema, a union per enumeration, the
 * defaults, and the schema itself as a constant.
 */
import { type Crd, capitalized, isConditions, type Schema, uncapitalized } from './crd.ts';

const lineWidth = 110;

/** The whole text of `src/api/<kind>.generated.ts`. */
export function printTypes(crd: Crd): string {
  const schema = crd.version.schema.openAPIV3Schema;
  const blocks: string[] = [];
  const spec = schema.properties?.spec ?? {};
  const status = schema.properties?.status ?? {};
  blocks.push(
    [
      docComment(schema.description, ''),
      `export interface ${crd.kind} extends KubernetesObject {`,
      docComment(spec.description, '  '),
      `  readonly spec: ${crd.kind}Spec;`,
      docComment(status.description, '  '),
      `  readonly status?: ${crd.kind}Status;`,
      '}',
    ].join('\n'),
  );
  printInterface(`${crd.kind}Spec`, spec, blocks);
  printInterface(`${crd.kind}Status`, status, blocks);
  const constant = uncapitalized(crd.kind);
  blocks.push(
    '/** What the API server fills in where spec says nothing. */\n' +
      `export const ${constant}SpecDefaults = ${literal(defaultsOf(spec), '')} as const;`,
    '/** The openAPIV3Schema of the CRD without descriptions, and without the rules that compare two states. */\n' +
      `export const ${constant}Schema: Readonly<Record<string, unknown>> = ${literal(forOneObject(schema), '')};`,
  );
  const imports = ['KubernetesObject'];
  if (blocks.some((block) => block.includes('readonly Condition[]'))) {
    imports.unshift('Condition');
  }
  return [
    `// Generated from ${crd.path} by hack/generate.ts (make generate). Do not edit.`,
    `import type { ${imports.join(', ')} } from '../kubernetes/objects.ts';`,
    '',
    blocks.join('\n\n'),
    '',
  ].join('\n');
}

function printInterface(name: string, schema: Schema, blocks: string[]): void {
  const lines: string[] = [];
  const place = blocks.push('') - 1;
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    const optional = schema.required?.includes(field) ? '' : '?';
    const type = isConditions(field, property)
      ? 'readonly Condition[]'
      : typeOf(name, capitalized(field), property, blocks);
    lines.push(docComment(describe(property), '  '), `  readonly ${field}${optional}: ${type};`);
  }
  if (schema['x-kubernetes-preserve-unknown-fields']) {
    lines.push('  readonly [field: string]: unknown;');
  }
  const text = [docComment(schema.description, ''), `export interface ${name} {`, ...lines, '}'];
  blocks[place] = text.filter((line) => line !== '').join('\n');
}

/** The type of one field. Objects and enumerations become blocks of their own, named by their path. */
function typeOf(owner: string, field: string, schema: Schema, blocks: string[]): string {
  const name = owner + field;
  if (schema['x-kubernetes-int-or-string']) {
    return 'number | string';
  }
  if (schema.enum) {
    blocks.push(`export type ${name} = ${schema.enum.map(quoted).join(' | ')};`);
    return name;
  }
  switch (schema.type) {
    case 'array':
      return `readonly ${typeOf(owner, field.replace(/s$/, ''), schema.items ?? {}, blocks)}[]`;
    case 'object':
      if (schema.properties) {
        printInterface(name, schema, blocks);
        return name;
      }
      return schema.additionalProperties
        ? `Readonly<Record<string, ${typeOf(name, 'Value', schema.additionalProperties, blocks)}>>`
        : 'Readonly<Record<string, unknown>>';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
      return schema.type;
    default:
      throw new Error(`${name}: no TypeScript for type ${schema.type}`);
  }
}

function describe(schema: Schema): string | undefined {
  const scalarDefault = schema.default !== undefined && typeof schema.default !== 'object';
  return scalarDefault ? `${schema.description} Default ${schema.default}.` : schema.description;
}

/** The defaults of an object, those of nested objects included. */
export function defaultsOf(schema: Schema): Record<string, unknown> {
  const defaults: Record<string, unknown> = {};
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && typeof property.default === 'object') {
      defaults[field] = { ...defaultsOf(property), ...property.default };
    } else if (property.default !== undefined) {
      defaults[field] = property.default;
    }
  }
  return defaults;
}

/** What a check of a single object needs of a schema. */
function forOneObject(schema: Schema): Schema {
  const { description: _, 'x-kubernetes-validations': allRules, properties, items, ...rest } = schema;
  const rules = allRules?.filter((rule) => rule.optionalOldSelf || !rule.rule.includes('oldSelf')) ?? [];
  return {
    ...rest,
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
    ...(properties && { properties: mapValues(properties, forOneObject) }),
    ...(items && { items: forOneObject(items) }),
    ...(rest.additionalProperties && { additionalProperties: forOneObject(rest.additionalProperties) }),
  };
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function docComment(text: string | undefined, indent: string): string {
  if (!text) {
    return '';
  }
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= lineWidth) {
    return oneLine;
  }
  const lines: string[] = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (`${indent} *${line} ${word}`.length > lineWidth) {
      lines.push(` ${word}`);
    } else {
      lines[lines.length - 1] = `${line} ${word}`;
    }
  }
  return [`${indent}/**`, ...lines.map((line) => `${indent} *${line}`), `${indent} */`].join('\n');
}

/** A JavaScript literal, indented, on one line where it fits. */
function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') {
    return quoted(value);
  }
  if (typeof value !== 'object' || value === null) {
    return String(value);
  }
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const entries = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([key, item]) => `${propertyName(key)}: ${literal(item, inner)}`);
  if (entries.length === 0) {
    return open + close;
  }
  const pad = Array.isArray(value) ? '' : ' ';
  const oneLine = `${open}${pad}${entries.join(', ')}${pad}${close}`;
  if (!oneLine.includes('\n') && indent.length + oneLine.length <= lineWidth - 30) {
    return oneLine;
  }
  return `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

function propertyName(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`).replaceAll('\n', '\\n');
  return quote + escaped + quote;
}
