/** Exit: the exit codes of the programs, and the errors that end them with one sentence. */

export const exitCode = {
  success: 0,
  failure: 1,
  usage: 2,
  /** Of `wait`, as in timeout(1). */
  timeout: 124,
  /** Of `wait`: the command never ran to an end. */
  missed: 125,
  /** As a shell says of a process that Ctrl-C ended. */
  interrupted: 130,
} as const;

/** It cannot be done. The message is one sentence for people, with what to do about it. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
  readonly code: number;

  constructor(message: string, code: number = exitCode.failure) {
    super(message);
    this.code = code;
  }
}

/** What was typed is wrong. */
export class UsageError extends Failure {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super(message, exitCode.usage);
  }
}
