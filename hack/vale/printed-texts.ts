/**
 * What people read besides documents: help of the programs, alerts, and messages of Events, conditions and policies. As
 * Markdown, in which names and values are code, which no rule looks at.
 */
import { glob, readFile } from 'node:fs/promises';
import { parse, parseAllDocuments } from 'yaml';
import { kubectlAt } from '../../src/cli/at/program.ts';
import { kubectlConfigWatcher } from '../../src/cli/configwatcher/program.ts';
import type { Command, Program } from '../../src/cli/program/command.ts';
import { flags } from '../../src/flags.ts';

/** Each with the name of its source. */
export async function printedTexts(): Promise<readonly (readonly [source: string, text: string])[]> {
  return [
    ['help of atwatch', listOf(flags.map(({ name, description }) => [`--${name}`, description]))],
    [`help of ${kubectlAt.name}`, textOf(kubectlAt)],
    [`help of ${kubectlConfigWatcher.name}`, textOf(kubectlConfigWatcher)],
    ['alerts', await alertTexts()],
    ['messages of policies', await policyMessages()],
    ['messages of src', await messages()],
  ];
}

interface Rules {
  readonly spec: {
    readonly groups: readonly {
      readonly rules: readonly { readonly annotations?: Readonly<Record<string, string>> }[];
    }[];
  };
}

async function alertTexts(): Promise<string> {
  const { spec }: Rules = parse(await readFile('config/prometheus/prometheus_rule.yaml', 'utf8'));
  const annotations = spec.groups.flatMap(({ rules }) => rules.map((rule) => rule.annotations ?? {}));
  return annotations
    .flatMap(({ summary = '', description = '' }) => [
      summary,
      description.replaceAll(/\{\{.*?\}\}/g, '`value`'),
    ])
    .join('\n\n');
}

interface Policy {
  readonly spec?: { readonly validations?: readonly { readonly message?: string }[] };
}

async function policyMessages(): Promise<string> {
  const lines: string[] = [];
  for await (const path of glob('config/policy/**/*.yaml')) {
    const policies = parseAllDocuments(await readFile(path, 'utf8')).map(
      (found) => found.toJS() as Policy | null,
    );
    lines.push(
      ...policies.flatMap((policy) => policy?.spec?.validations ?? []).map(({ message = '' }) => message),
    );
  }
  return lines.join('\n\n');
}

/** Literals of at least three words. No sentence of theirs is whole: what a message is made of is put together later. */
async function messages(): Promise<string> {
  const lines: string[] = [];
  for await (const path of glob('src/{at,configwatcher,annotated-workloads}/**/*.ts')) {
    const code = (await readFile(path, 'utf8')).replaceAll(/\/\*.*?\*\/|^\s*\/\/.*?$/gms, '');
    for (const [, single = '', template = '', double = ''] of code.matchAll(
      /'([^'\n]*)'|`([^`]*)`|"([^"\n]*)"/g,
    )) {
      const text = `${single}${template}${double}`
        .replaceAll(/\$\{[^{}]*\}/g, '`value`')
        .replace(/[.:]?\s*$/, '');
      // A template in a template is cut in pieces, which are no text.
      if (/^[^\n]*[a-z]{2} \S+ \S[^\n]*$/.test(text) && !text.includes('${')) lines.push(`- ${text}`);
    }
  }
  return lines.join('\n');
}

function textOf({ summary, commands, fallback, notes }: Program): string {
  const shown = [...(fallback === undefined ? [] : [fallback]), ...commands].filter(
    ({ isHidden }) => !isHidden,
  );
  return [summary, ...shown.map(commandText), notes.join(' ')].join('\n\n');
}

function commandText({ name, summary, details = [], flags }: Command): string {
  const rows = Object.entries(flags).map(([flag, { description }]) => [`--${flag}`, description] as const);
  return [listOf([[name, summary]]), details.join(' '), listOf(rows)].join('\n\n');
}

function listOf(rows: readonly (readonly [name: string, description: string])[]): string {
  return rows.map(([name, description]) => `- \`${name}\` ${description}`).join('\n');
}
