/** Process host: the host of a program that runs as a process, given to it by its main file. */
import { systemClock } from '../../runtime/clock.ts';
import type { Program } from './command.ts';
import { exitCode } from './exit.ts';
import type { Host, Output } from './host.ts';
import { runProgram } from './run.ts';

/** Runs the program, and leaves its exit code to the process, which ends when everything has been written. */
export async function runAsProcess(program: Program, process: NodeJS.Process): Promise<void> {
  const interruption = new AbortController();
  process.once('SIGINT', () => {
    interruption.abort();
    // For what does not listen: a request to a server that gives no answer.
    setTimeout(() => process.exit(exitCode.interrupted), 500).unref();
  });
  // The reader has seen enough, as `| head` does.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
  }
  const host: Host = {
    args: process.argv.slice(2),
    env: process.env,
    clock: systemClock,
    zone: new Intl.DateTimeFormat('en').resolvedOptions().timeZone,
    output: outputOf(process.stdout),
    errors: outputOf(process.stderr),
    signal: interruption.signal,
  };
  process.exitCode = await runProgram(program, host);
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write: (text) => void stream.write(text),
    isTerminal: stream.isTTY === true,
    columns: stream.columns,
  };
}
