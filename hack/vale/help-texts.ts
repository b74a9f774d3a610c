/** What the programs print as help, as Markdown with one line for each thing that is explained. */
import { kubectlAt } from '../../src/cli/at/program.ts';
import { kubectlConfigWatcher } from '../../src/cli/configwatcher/program.ts';
import type { Command, Program } from '../../src/cli/program/command.ts';
import { flags } from '../../src/flags.ts';

/** By the name of the program. */
export function helpTexts(): readonly (readonly [program: string, text: string])[] {
  return [
    ['atwatch', listOf(flags.map(({ name, description }) => [`--${name}`, description]))],
    [kubectlAt.name, textOf(kubectlAt)],
    [kubectlConfigWatcher.name, textOf(kubectlConfigWatcher)],
  ];
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

/** The name is code, which no rule looks at. */
function listOf(rows: readonly (readonly [name: string, description: string])[]): string {
  return rows.map(([name, description]) => `- \`${name}\` ${description}`).join('\n');
}
