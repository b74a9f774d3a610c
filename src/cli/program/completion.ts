/**
 * Completion: what may come next on the command line. kubectl asks a program named `kubectl_complete-at` on the PATH,
 * which calls `kubectl at __complete WORD...` and prints one proposal per line, as its own completion understands them.
 */

import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { type Cluster, withCluster } from '../cluster/cluster.ts';
import { namespaces, workloads } from '../cluster/resources.ts';
import type { Call, Command, Completed, Flag, Program } from './command.ts';
import { exitCode, UsageError } from './exit.ts';

/** Cobra's directive "no file names". */
const noFiles = ':4';
const shells = ['bash', 'zsh', 'fish'];

/** One proposal: the word, and what it is. */
type Proposal = readonly [word: string, description?: string];

/** The hidden command that kubectl's completion ends in. @param resource of the objects that words name. */
export function completeCommand(resource: Resource, times: readonly string[]): Command {
  return {
    name: '__complete',
    synopsis: 'WORD...',
    summary: 'What may come next, for the completion of kubectl',
    isHidden: true,
    flags: {},
    words: { least: 0, most: Number.POSITIVE_INFINITY },
    isRaw: true,
    run: async (call) => {
      const proposals = await propose(call, call.words, { resource, times });
      for (const [word, description] of proposals) {
        call.host.output.write(`${word}${description === undefined ? '' : `\t${description}`}\n`);
      }
      call.host.output.write(`${noFiles}\n`);
      return exitCode.success;
    },
  };
}

interface Known {
  readonly resource: Resource;
  readonly times: readonly string[];
}

/** @param typed the words so far; the last one is being typed. */
async function propose(call: Call, typed: readonly string[], known: Known): Promise<readonly Proposal[]> {
  const last = typed.at(-1) ?? '';
  const before = typed.slice(0, -1);
  // What follows is the command of the At.
  if (before.includes('--')) return [];
  const { program } = call;
  const command = program.commands.find(({ name }) => name === before[0]) ?? program.fallback;
  const flagBefore = flagNamed(command, before.at(-1));
  const candidates =
    flagBefore?.value === undefined
      ? await proposeWord(call, { command, before, last }, known)
      : await valuesOf(call, flagBefore.completes, before, known);
  return candidates.filter(([word]) => word.startsWith(last));
}

interface Position {
  readonly command: Command | undefined;
  readonly before: readonly string[];
  readonly last: string;
}

async function proposeWord(
  call: Call,
  { command, before, last }: Position,
  known: Known,
): Promise<readonly Proposal[]> {
  if (last.startsWith('-')) {
    return Object.entries(command?.flags ?? {}).map(
      ([name, flag]) => [`--${name}`, flag.description] as const,
    );
  }
  const { commands } = call.program;
  const shown = commands.filter(({ isHidden }) => !isHidden);
  const names = before.length === 0 ? shown.map(({ name, summary }) => [name, summary] as const) : [];
  return [...names, ...(await valuesOf(call, command?.words.completes, before, known))];
}

function flagNamed(command: Command | undefined, word = ''): Flag | undefined {
  if (word.startsWith('--')) return command?.flags[word.slice(2)];
  if (!/^-[a-zA-Z]$/.test(word)) return undefined;
  return Object.values(command?.flags ?? {}).find(({ short }) => short === word.slice(1));
}

async function valuesOf(
  call: Call,
  completed: Completed | undefined,
  before: readonly string[],
  { resource, times }: Known,
): Promise<readonly Proposal[]> {
  switch (completed) {
    case undefined:
      return [];
    case 'when':
      return times.map((time) => [time]);
    case 'zone':
      return [['UTC'], ...Intl.supportedValuesOf('timeZone').map((zone): Proposal => [zone])];
    case 'namespace':
      return namesOf(call, before, () => [[namespaces, '', '']]);
    case 'object':
      return namesOf(call, before, ({ namespace }) => [[resource, namespace, '']]);
    case 'workload':
      return namesOf(call, before, ({ namespace }) =>
        workloadKinds.map((kind) => [kind[0], namespace, kind[1]]),
      );
    default:
      return completed.map((word) => [word]);
  }
}

const workloadKinds = ['deploy', 'sts', 'ds'].flatMap((prefix) => {
  const resource = workloads[prefix];
  return resource === undefined ? [] : [[resource as Resource<KubernetesObject>, `${prefix}/`] as const];
});

type Collection = readonly [resource: Resource<KubernetesObject>, namespace: string, prefix: string];

/** Completion is silent: without an answer there is nothing to propose. */
async function namesOf(
  call: Call,
  before: readonly string[],
  which: (cluster: Cluster) => readonly Collection[],
): Promise<readonly Proposal[]> {
  const value = (flag: string) => valueTyped(before, flag, { namespace: '-n' }[flag]);
  try {
    return await withCluster({ ...call, value }, async (cluster) => {
      const lists = which(cluster).map(async ([resource, namespace, prefix]) => {
        const { items } = await cluster.client.list(resource, {
          namespace,
          metadataOnly: true,
          timeout: 3000,
        });
        return items.map(({ metadata }): Proposal => [`${prefix}${metadata.name}`]);
      });
      return (await Promise.all(lists)).flat();
    });
  } catch {
    return [];
  }
}

/** `--flag value`, `--flag=value` or `-f value`, wherever it was typed. */
function valueTyped(words: readonly string[], flag: string, short: string | undefined): string | undefined {
  const joined = words.find((word) => word.startsWith(`--${flag}=`));
  if (joined !== undefined) return joined.slice(flag.length + 3);
  const index = words.findIndex((word) => word === `--${flag}` || word === short);
  return index === -1 ? undefined : words[index + 1];
}

/** `completion SHELL`: how to have it. */
export const completionCommand: Command = {
  name: 'completion',
  synopsis: shells.join('|'),
  summary: 'Print what makes the shell complete words',
  details: [
    "The completion is part of kubectl's own, which finds the program kubectl_complete-* beside this one. So the shell",
    "needs kubectl's completion, and this prints the line that loads it.",
  ],
  examples: ['source <(kubectl at completion bash)'],
  flags: {},
  words: { least: 1, most: 1, completes: shells },
  run: async ({ words: [shell = ''], host, program }) => {
    host.output.write(completionScript(program, shell));
    return exitCode.success;
  },
};

/** @throws {UsageError} for another shell. */
export function completionScript({ name }: Program, shell: string): string {
  const lines: Readonly<Record<string, string>> = {
    bash: 'source <(kubectl completion bash)',
    zsh: 'source <(kubectl completion zsh)',
    fish: 'kubectl completion fish | source',
  };
  const line = lines[shell];
  if (line === undefined) throw new UsageError(`completion is for ${shells.join(', ')}, not "${shell}"`);
  const helper = `kubectl_complete-${name.split(' ').at(-1)}`;
  return `# ${name} is completed by kubectl's own completion, which finds ${helper} on the PATH.\n${line}\n`;
}
