/**
 * The chart's share of what is generated: copies of the CRDs, rules and policies that its templates read, because
 * Helm reads no file outside the chart, and the table of values in its README.
 */
import { readFile } from 'node:fs/promises';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';

const chart = 'charts/atwatch';

/** Path in the chart's folder files/, and where the text comes from. */
const copies: Readonly<Record<string, string>> = {
  'crds/ats.yaml': 'crds/ats.yaml',
  'crds/configwatchers.yaml': 'crds/configwatchers.yaml',
  'crds/com/configwatchers.yaml': 'crds/com/configwatchers.yaml',
  'policy/advice.yaml': 'config/policy/advice.yaml',
  'policy/author.yaml': 'config/author-check/author.yaml',
  'policy/operator_identity.yaml': 'config/policy/operator_identity.yaml',
  'policy/operator_identity_check.yaml': 'config/policy/operator_identity_check.yaml',
  'policy/operator_pods.yaml': 'config/policy/operator_pods.yaml',
  'policy/operator_updates.yaml': 'config/policy/operator_updates.yaml',
  'policy/requester.yaml': 'config/policy/requester.yaml',
  'rbac/role.yaml': 'config/rbac/permissions/role.yaml',
  'prometheus/prometheus_rule.yaml': 'config/prometheus/prometheus_rule.yaml',
  'prometheus/dashboard.json': 'config/prometheus/dashboard.json',
};

/**
 * Path and text of the chart's generated files.
 *
 * @param generated those of other generators, which may be the source of a copy.
 */
export async function chartFiles(generated: ReadonlyMap<string, string>): Promise<[string, string][]> {
  const copied = Object.entries(copies).map(async ([path, source]): Promise<[string, string]> => {
    const text = (generated.get(source) ?? (await readFile(source, 'utf8'))).replace(/^# Generated .*\n/, '');
    // JSON has no comments.
    const origin = `# Generated from ${source} by hack/generate.ts (make generate). Do not edit.\n`;
    return [`${chart}/files/${path}`, path.endsWith('.json') ? text : origin + text];
  });
  const readme = `${chart}/README.md`;
  const [text, values] = await Promise.all(
    [readme, `${chart}/values.yaml`].map((path) => readFile(path, 'utf8')),
  );
  return [...(await Promise.all(copied)), [readme, withValuesTable(text ?? '', values ?? '')]];
}

/** The README with the table of all values in place of the one it has. */
export function withValuesTable(readme: string, values: string): string {
  const rows = describedValues(values).map(
    ({ path, preset, description }) => `| \`${path}\` | ${code(preset)} | ${description} |`,
  );
  const table = ['| value | default | |', '| --- | --- | --- |', ...rows].join('\n');
  return readme.replace(/(?<=<!-- values: .*-->\n)[\s\S]*?(?=<!-- end of values -->)/, () => `${table}\n`);
}

function code(preset: unknown): string {
  const json = JSON.stringify(preset).replaceAll('|', '\\|');
  return preset === '' ? '' : `\`${json}\``;
}

export interface DescribedValue {
  /** With dots, as `--set` takes it. */
  readonly path: string;
  readonly preset: unknown;
  readonly description: string;
}

/**
 * Every value with a comment `# -- ...` of its own, as helm-docs reads them.
 *
 * @throws {Error} when a value has no description.
 */
export function describedValues(values: string): DescribedValue[] {
  const root = parseDocument(values).contents;
  return isMap(root) ? valuesIn(root, []) : [];
}

function valuesIn(map: YAMLMap, parents: readonly string[]): DescribedValue[] {
  return map.items.flatMap((pair: Pair, index) => {
    const { key, value } = pair;
    if (!isScalar(key)) return [];
    const path = [...parents, String(key.value)];
    // The comment above a map's first key belongs to the map.
    const comment = (index === 0 ? map.commentBefore : undefined) ?? key.commentBefore ?? '';
    const description = /^ -- ([\s\S]*)/m.exec(comment)?.[1];
    if (description !== undefined) {
      const preset = value === null ? null : (value as YAMLMap).toJSON();
      return [{ path: path.join('.'), preset, description: description.replace(/\n\s*/g, ' ') }];
    }
    if (isMap(value) && value.items.length > 0) return valuesIn(value, path);
    throw new Error(`values.yaml: ${path.join('.')} has no comment "# -- ..."`);
  });
}
