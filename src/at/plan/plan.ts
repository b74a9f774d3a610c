/**
 * Plan: what a spec asks for, once it has been understood: when, and which words. A spec that cannot be
 * understood is no error but a reason and a sentence, for the condition Accepted.
 */

import type { At, AtSpec } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import { problemText, validateAt } from '../../schema/validate.ts';
import { escapeExpansion, splitCommand } from './command.ts';
import { isAccepted } from './phase.ts';
import { resolveSchedule } from './schedule.ts';
import { readTemplate, type Template } from './template.ts';

export interface Plan {
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** What the main container executes; undefined leaves that to the template or the image. */
  readonly command: readonly string[] | undefined;
  /** Among the words stands an operator that only a shell would obey. */
  readonly hasOperator: boolean;
  readonly template: Template;
}

export interface InvalidPlan {
  readonly reason: string;
  readonly message: string;
}

/** A plan of which the API server says that its Pod is not valid. */
export interface RefusedTemplate extends InvalidPlan {
  readonly isRefused: true;
}

/**
 * Never throws, whatever the spec holds: a CRD with a laxer schema than ours may have let it in. That is
 * looked for until the spec has been accepted.
 */
export function planOf(at: At): Plan | InvalidPlan {
  const { spec } = at;
  const problem = isAccepted(at) ? undefined : problemOf(at);
  if (problem !== undefined) {
    return problem;
  }
  const due = resolveSchedule(spec.schedule, spec.timeZone);
  if (!due.ok) {
    return { reason: due.reason, message: due.message };
  }
  const read = readTemplate(spec);
  if (!read.ok) {
    return { reason: atReason.invalidTemplate, message: read.message };
  }
  const command = commandOf(spec, read.template);
  return 'message' in command
    ? { reason: atReason.invalidCommand, message: command.message }
    : { dueAt: due.instant, template: read.template, ...command };
}

export function isRefusedTemplate(plan: InvalidPlan): plan is RefusedTemplate {
  return 'isRefused' in plan;
}

export function isInvalid(plan: Plan | InvalidPlan): plan is InvalidPlan {
  return 'reason' in plan;
}

/** What the CRD's own schema and rules say against the spec. */
function problemOf({ metadata: { name }, spec }: At): InvalidPlan | undefined {
  const { problems } = validateAt({ metadata: { name }, spec });
  const [first] = problems;
  return first && { reason: reasonFor(first.path), message: problemText(problems) };
}

function reasonFor(path: string): string {
  if (path.startsWith('spec.schedule')) {
    return atReason.invalidSchedule;
  }
  if (path.startsWith('spec.timeZone')) {
    return atReason.invalidTimeZone;
  }
  // The only rule without a path is the one about the name, which becomes a label of the Pod.
  return path === '' || path.startsWith('spec.template') ? atReason.invalidTemplate : atReason.invalidCommand;
}

type Command = Pick<Plan, 'command' | 'hasOperator'> | { readonly message: string };

function commandOf(spec: AtSpec, template: Template): Command {
  const { argv, command, shell } = spec;
  if (argv !== undefined && (command !== undefined || shell !== undefined)) {
    return { message: 'argv must not be set together with command or shell' };
  }
  if (shell !== undefined && (command === undefined || !shell.startsWith('/'))) {
    return { message: 'shell must be an absolute path, and needs command, the text for the shell' };
  }
  if (argv !== undefined) {
    return checked({ command: argv.map(escapeExpansion), hasOperator: false });
  }
  if (command === undefined) {
    return template.containers.length > 0
      ? { command: undefined, hasOperator: false }
      : { message: 'nothing to run: set command, argv, or a template with a container' };
  }
  if (shell !== undefined) {
    return checked({ command: [shell, '-c', command].map(escapeExpansion), hasOperator: false });
  }
  const split = splitCommand(command);
  return split === undefined
    ? { message: 'command has a quote that is never closed' }
    : checked({ command: split.words, hasOperator: split.hasOperator });
}

/** What no program can be started with. */
function checked(command: { readonly command: readonly string[]; readonly hasOperator: boolean }): Command {
  if (command.command[0] === undefined || command.command[0] === '') {
    return { message: 'command names no program' };
  }
  if (command.command.some((word) => word.includes('\0'))) {
    return { message: 'a word of the command holds a NUL character' };
  }
  return command;
}
