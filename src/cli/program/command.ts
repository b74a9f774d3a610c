/** Command: one thing that a program can do, and what was typed to have it done. */
import type { Host } from './host.ts';

export interface Flag {
  /** One letter. */
  readonly short?: string;
  /** Of the value in the help; a flag without one is a switch. */
  readonly value?: string;
  readonly description: string;
  /** What completion offers for the value. */
  readonly completes?: Completed;
}

/** What a word of the command line may be. */
export type Completed = 'namespace' | 'object' | 'workload' | 'when' | 'zone' | readonly string[];

export interface Command {
  /** The word that selects it. */
  readonly name: string;
  /** What is typed after the program's name, without flags that every command has. */
  readonly synopsis: string;
  /** One line. */
  readonly summary: string;
  /** Further lines of its help. */
  readonly details?: readonly string[];
  readonly examples?: readonly string[];
  /** By name, without dashes. */
  readonly flags: Readonly<Record<string, Flag>>;
  /** Words after the command's own. */
  readonly words: { readonly least: number; readonly most: number; readonly completes?: Completed };
  /** Whether words after `--` are understood. */
  readonly takesRest?: boolean;
  /** All that follows are its words, flags and `--` among them. */
  readonly isRaw?: boolean;
  /** Left out of the help. */
  readonly isHidden?: boolean;
  /** @returns the exit code. */
  run(call: Call): Promise<number>;
}

/** What was typed. */
export interface Call {
  readonly host: Host;
  readonly program: Program;
  readonly command: Command;
  readonly words: readonly string[];
  /** What follows `--`; undefined without one. */
  readonly rest: readonly string[] | undefined;
  /** The value of a flag. */
  value(flag: string): string | undefined;
  /** Whether a switch is set. */
  isSet(flag: string): boolean;
}

export interface Program {
  /** As it is typed: `kubectl at`. */
  readonly name: string;
  readonly version: string;
  /** What it is for, in one sentence. */
  readonly summary: string;
  readonly commands: readonly Command[];
  /** What is meant when the first word is no command's name; without it such a word is refused. */
  readonly fallback?: Command;
  /** Lines after the list of commands. */
  readonly notes: readonly string[];
}

/** Flags that say which cluster, as whom and in which namespace, as kubectl's own. */
export const clusterFlags = {
  namespace: {
    short: 'n',
    value: 'NAME',
    description: "the namespace; default that of the kubeconfig's context",
    completes: 'namespace',
  },
  context: { value: 'NAME', description: 'the context of the kubeconfig' },
  kubeconfig: { value: 'FILE', description: 'the kubeconfig; default KUBECONFIG, else ~/.kube/config' },
  as: { value: 'USER', description: 'act as this user, where you may' },
} as const satisfies Record<string, Flag>;

export const allNamespacesFlag = {
  'all-namespaces': { short: 'A', description: 'of all namespaces' },
} as const satisfies Record<string, Flag>;

export function outputFlag(...formats: readonly string[]) {
  const value = formats.join('|');
  return {
    output: { short: 'o', value, description: 'print it for a program', completes: formats },
  } satisfies Record<string, Flag>;
}
