/** Command line: what was typed, read as a call of a command. */
import { parseArgs } from 'node:util';
import type { Call, Command, Flag, Program } from './command.ts';
import { UsageError } from './exit.ts';
import type { Host } from './host.ts';

export type Reading =
  | { readonly asks: 'help'; readonly command: Command | undefined }
  | { readonly asks: 'version' }
  | { readonly asks: 'call'; readonly call: Call };

/** @throws {UsageError} with one sentence. */
export function readCommandLine(program: Program, host: Host): Reading {
  const end = host.args.indexOf('--');
  const typed = end === -1 ? host.args : host.args.slice(0, end);
  const rest = end === -1 ? undefined : host.args.slice(end + 1);
  const [first] = typed;
  if (first === undefined && rest === undefined) return { asks: 'help', command: undefined };
  if (first === '--version' || first === 'version') return { asks: 'version' };
  // Its words are those of another command line.
  const raw = program.commands.find(({ name, isRaw }) => isRaw && name === first);
  if (raw !== undefined) return { asks: 'call', call: rawCall(program, raw, host) };
  const isHelp = typed.includes('--help') || typed.includes('-h');
  if (first === 'help') return { asks: 'help', command: helpTopic(program, typed[1]) };
  const { named, args } = selected(program, typed);
  if (isHelp) return { asks: 'help', command: named };
  const command = named ?? program.fallback;
  if (command === undefined) throw new UsageError(unknownCommand(program, first ?? '--'));
  return { asks: 'call', call: readCall({ host, program, command, args, rest }) };
}

/** The command that is named, and what was typed besides. */
function selected(program: Program, typed: readonly string[]) {
  const index = firstWord(program, typed) ?? typed.length;
  const named = program.commands.find(({ name }) => name === typed[index]);
  return { named, args: named === undefined ? typed : typed.toSpliced(index, 1) };
}

/** Where the first word stands that is no flag and no value of one: flags may come before the command. */
function firstWord({ commands, fallback }: Program, args: readonly string[]): number | undefined {
  const flags = [...commands, ...(fallback === undefined ? [] : [fallback])].flatMap((command) =>
    Object.entries(command.flags),
  );
  const options = Object.fromEntries(flags.map(([name, flag]) => [name, optionOf(flag)]));
  const { tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return tokens.find(({ kind }) => kind === 'positional')?.index;
}

function helpTopic(program: Program, name: string | undefined): Command | undefined {
  if (name === undefined) return undefined;
  const command = program.commands.find((command) => command.name === name);
  if (command === undefined) throw new UsageError(unknownCommand(program, name));
  return command;
}

function unknownCommand({ name, commands }: Program, typed: string): string {
  const known = commands.filter(({ isHidden }) => !isHidden).map((command) => command.name);
  return `"${typed}" is no command of ${name}; there are ${known.join(', ')}`;
}

function rawCall(program: Program, command: Command, host: Host): Call {
  const words = host.args.slice(1);
  return { host, program, command, words, rest: undefined, value: () => undefined, isSet: () => false };
}

interface Typed extends Pick<Call, 'host' | 'program' | 'command' | 'rest'> {
  readonly args: readonly string[];
}

function readCall({ args, ...typed }: Typed): Call {
  const { command, program, rest } = typed;
  const title = titleOf(program, command);
  const { values, positionals: words } = parse(args, command, title);
  const { least, most } = command.words;
  if (words.length < least) throw new UsageError(`something is missing: ${title} ${command.synopsis}`);
  if (words.length > most) {
    throw new UsageError(`"${words[most]}" is too much: ${title} ${command.synopsis}`);
  }
  if (rest !== undefined && !command.takesRest) {
    throw new UsageError(`nothing may follow "--" here: ${title} ${command.synopsis}`);
  }
  return {
    ...typed,
    words,
    value: (flag) => stringOf(values[flag]),
    isSet: (flag) => values[flag] === true,
  };
}

/** The program with the command's own name. */
export function titleOf(program: Program, command: Command): string {
  return command === program.fallback ? program.name : `${program.name} ${command.name}`;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function parse(args: readonly string[], command: Command, title: string) {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [name, optionOf(flag)]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${sentenceOf(error, command)}; see ${title} --help`);
  }
}

function optionOf({ value, short }: Flag) {
  const type = value === undefined ? ('boolean' as const) : ('string' as const);
  return short === undefined ? { type } : { type, short };
}

function sentenceOf(error: unknown, { flags }: Command): string {
  const { message, code } = error as { message: string; code?: string };
  const flag = /'(-[^' ]*)/.exec(message)?.[1] ?? '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = Object.keys(flags).map((name) => `--${name}`);
    return `there is no flag ${flag} here, but ${known.join(', ')}`;
  }
  return `${(message.split('\n', 1)[0] ?? '').replace(/\.$/, '')}`;
}
