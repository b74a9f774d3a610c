/**
 * Plan: what a spec asks for, once it has been understood: when, and which words. A spec that cannot be
 * understood is no error but a reason and a sentence, for the condition Accepted.
 */

import type { At, AtSpec } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import { problemText, validateAt } from '../../schema/validate.ts';
import { type Cause, isCause } from './cause.ts';
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

/**
 * Never throws, whatever the spec holds: a CRD with a laxer schema than ours may have let it in. That is
 * looked for until the spec has been accepted.
 */
export function planOf(at: At): Plan | Cause {
  const { spec } = at;
  const problem = isAccepted(at) ? undefined : problemOf(at);
  if (problem !== undefined) {
    return problem;
  }
  const dueAt = resolveSchedule(spec.schedule, spec.timeZone);
  if (typeof dueAt !== 'number') {
    return dueAt;
  }
  const template = readTemplate(spec);
  if (isCause(template)) {
    return template;
  }
  const command = commandOf(spec, template);
  return isCause(command) ? command : { dueAt, template, ...command };
}

/** What the CRD's own schema and rules say against the spec. */
function problemOf({ metadata: { name }, spec }: At): Cause | undefined {
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

function commandOf(spec: AtSpec, template: Template): Pick<Plan, 'command' | 'hasOperator'> | Cause {
  const { argv, command, shell } = spec;
  if (argv !== undefined && (command !== undefined || shell !== undefined)) {
    return invalid('argv must not be set together with command or shell');
  }
  if (shell !== undefined && (command === undefined || !shell.startsWith('/'))) {
    return invalid('shell must be an absolute path, and needs command, the text for the shell');
  }
  if (argv !== undefined) {
    return checked(argv.map(escapeExpansion));
  }
  if (command === undefined) {
    return template.containers.length > 0
      ? { command: undefined, hasOperator: false }
      : invalid('nothing to run: set command, argv, or a template with a container');
  }
  if (shell !== undefined) {
    return checked([shell, '-c', command].map(escapeExpansion));
  }
  const split = splitCommand(command);
  return split === undefined
    ? invalid('command has a quote that is never closed')
    : checked(split.words, split.hasOperator);
}

/** What no program can be started with is refused. */
function checked(
  command: readonly string[],
  hasOperator = false,
): Pick<Plan, 'command' | 'hasOperator'> | Cause {
  if (command[0] === undefined || command[0] === '') {
    return invalid('command names no program');
  }
  if (command.some((word) => word.includes('\0'))) {
    return invalid('a word of the command holds a NUL character');
  }
  return { command, hasOperator };
}

function invalid(message: string): Cause {
  return { reason: atReason.invalidCommand, message };
}
