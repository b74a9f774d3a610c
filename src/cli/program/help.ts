/** Help: the texts of --help. */
import { type Command, clusterFlags, type Flag, type Program } from './command.ts';
import { titleOf } from './command-line.ts';

export function programHelp(program: Program): string {
  const { name, summary, commands, fallback, notes } = program;
  const shown = commands.filter(({ isHidden }) => !isHidden);
  const rows = shown.map(({ synopsis, name, summary }) => [`${name} ${synopsis}`.trim(), summary] as const);
  return lines([
    summary,
    '',
    ...(fallback === undefined ? [] : [`  ${name} ${fallback.synopsis}`, `      ${fallback.summary}`, '']),
    ...columns(rows.map(([usage, summary]) => [`  ${name} ${usage}`, summary])),
    '',
    `${name} COMMAND --help says more of each.${fallback === undefined ? '' : ` This is about the times and flags of ${name} itself:`}`,
    ...(fallback === undefined ? [] : ['', ...body(program, fallback)]),
    '',
    ...notes,
  ]);
}

export function commandHelp(program: Program, command: Command): string {
  return lines([
    `${command.summary}.`,
    '',
    `  ${titleOf(program, command)} ${command.synopsis}`.trimEnd(),
    '',
    ...body(program, command),
  ]);
}

function body(_: Program, { details = [], examples = [], flags }: Command): string[] {
  const own = Object.entries(flags).filter(([name]) => !Object.hasOwn(clusterFlags, name));
  const common = Object.entries(flags).filter(([name]) => Object.hasOwn(clusterFlags, name));
  return [
    ...details,
    ...(details.length > 0 ? [''] : []),
    ...(examples.length > 0 ? ['Examples:', ...examples.map((example) => `  ${example}`), ''] : []),
    ...(own.length + common.length > 0 ? ['Flags:', ...columns([...own, ...common].map(flagRow))] : []),
  ];
}

function flagRow([name, { short, value, description }]: readonly [string, Flag]): readonly [string, string] {
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return [`  ${short === undefined ? '    ' : `-${short}, `}${long}`, description];
}

/** The second column below each other; under the first where that is wide. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `${first.padEnd(width)}   ${second}`);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n').trimEnd()}\n`;
}
