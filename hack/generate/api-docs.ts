/**
 * Prints docs/api.md: for each kind its names, its columns and a table of fields per object, with types,
 * defaults, limits and rules. Everything in it stands in the CRDs.
 */
import { type Crd, isConditions, type Schema } from '../../src/scaffold/crd.ts';

/** The whole text of docs/api.md. */
export function printApiDocs(crds: readonly Crd[]): string {
  const sections = crds.flatMap((crd) => printKind(crd));
  return `${[
    '<!-- Generated from crds/ by hack/generate.ts (make generate). Do not edit. -->',
    '# API reference',
    crds.map((crd) => `- [${crd.kind}](#${crd.kind.toLowerCase()}), \`${apiVersion(crd)}\``).join('\n'),
    ...sections,
  ].join('\n\n')}\n`;
}

function apiVersion(crd: Crd): string {
  return `${crd.group}/${crd.version.name}`;
}

function printKind(crd: Crd): string[] {
  const schema = crd.version.schema.openAPIV3Schema;
  const names = [crd.plural, ...crd.shortNames].map((name) => `\`kubectl get ${name}\``).join(' or ');
  const columns = (crd.version.additionalPrinterColumns ?? []).map((column) => [
    column.name.toUpperCase() + (column.priority ? ' (with `-o wide`)' : ''),
    code(column.jsonPath),
    column.description ?? '',
  ]);
  const selectable = (crd.version.selectableFields ?? []).map((field) => code(field.jsonPath)).join(', ');
  return [
    `## ${crd.kind}`,
    `${schema.description ?? ''} \`apiVersion: ${apiVersion(crd)}\`, \`kind: ${crd.kind}\`, ${names}.`,
    ...(crd.otherGroups ?? []).map((group) => alsoServed(crd, group)),
    ...rules(schema),
    table(['Column', 'Source', 'Meaning'], columns),
    ...(selectable === '' ? [] : [`Selectable with \`--field-selector\`: ${selectable}.`]),
    ...['spec', 'status'].flatMap((part) =>
      printObject(`${crd.kind}.${part}`, schema.properties?.[part] ?? {}),
    ),
  ];
}

function alsoServed(crd: Crd, group: string): string {
  const [name = crd.plural] = crd.shortNames;
  return (
    `The same kind in the group \`${group}\`, for manifests that name it so: ` +
    '`kubectl apply --server-side -k crds/com`. With both groups installed a bare ' +
    `\`kubectl get ${name}\` lists one of them only; \`kubectl get ${crd.plural}.${crd.group}\` says which.`
  );
}

/** One object as a heading, its rules and its table of fields, followed by the objects inside it. */
function printObject(path: string, schema: Schema): string[] {
  const rows: string[][] = [];
  const nested: string[] = [];
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    const required = schema.required?.includes(field) ? ' **Required.**' : '';
    const messages = new Set(property['x-kubernetes-validations']?.map(({ message }) => emphasized(message)));
    const refusals = messages.size > 0 ? ` Refused with ${[...messages].join(' or ')}.` : '';
    rows.push([
      code(field),
      typeName(property),
      defaultOf(property),
      escaped(property.description ?? '') + required + limits(property) + refusals,
    ]);
    nested.push(...printNested(`${path}.${field}`, field, property));
  }
  return [
    `### ${code(path)}`,
    schema.description ?? '',
    ...rules(schema),
    table(['Field', 'Type', 'Default', 'Meaning'], rows),
    ...nested,
  ];
}

function printNested(path: string, field: string, schema: Schema): string[] {
  if (isConditions(field, schema)) {
    return [];
  }
  if (schema.items?.properties) {
    return printObject(`${path}[]`, schema.items);
  }
  return schema.properties ? printObject(path, schema) : [];
}

function rules(schema: Schema): string[] {
  const lines = (schema['x-kubernetes-validations'] ?? []).map(
    ({ fieldPath, message }) => `- ${fieldPath ? `${code(fieldPath.slice(1))}: ` : ''}${emphasized(message)}`,
  );
  return lines.length === 0 ? [] : [`Refused by the API server with:\n\n${lines.join('\n')}`];
}

function typeName(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string']) {
    return 'integer or string';
  }
  if (schema.enum) {
    return schema.enum.map(code).join(' \\| ');
  }
  if (schema.type === 'array') {
    return `list of ${typeName(schema.items ?? {})}s`;
  }
  if (schema.additionalProperties) {
    return `map of ${typeName(schema.additionalProperties)}s`;
  }
  return schema.format === 'date-time' ? 'timestamp' : (schema.type ?? '');
}

function defaultOf(schema: Schema): string {
  return schema.default === undefined || typeof schema.default === 'object'
    ? ''
    : code(String(schema.default));
}

function limits(schema: Schema): string {
  const parts = [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    range(schema.minProperties, schema.maxProperties, ' entries'),
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

function range(minimum: number | undefined, maximum: number | undefined, unit: string): string {
  if (minimum === undefined) {
    return maximum === undefined ? '' : `at most ${maximum}${unit}`;
  }
  return maximum === undefined ? `at least ${minimum}${unit}` : `${minimum} to ${maximum}${unit}`;
}

/** A bar would end the cell of a table, an asterisk begin emphasis. */
function escaped(text: string): string {
  return text.replaceAll(/[|*<]/g, '\\$&');
}

function emphasized(text: string | undefined): string {
  return `*${escaped(text ?? '')}*`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
