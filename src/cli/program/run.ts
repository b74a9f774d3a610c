/** Run: a program from its command line to its exit code. */
import { ApiError, TransportError } from '../../runtime/client/api-error.ts';
import { KubeConfigError } from '../../runtime/client/kubeconfig-entries.ts';
import type { Program } from './command.ts';
import { readCommandLine } from './command-line.ts';
import { exitCode, Failure } from './exit.ts';
import { commandHelp, programHelp } from './help.ts';
import type { Host } from './host.ts';

/** Whatever happens, there is an exit code, and one sentence of what went wrong on standard error. */
export async function runProgram(program: Program, host: Host): Promise<number> {
  try {
    const reading = readCommandLine(program, host);
    switch (reading.asks) {
      case 'version':
        host.output.write(`${program.name} ${program.version}\n`);
        return exitCode.success;
      case 'help': {
        const { command } = reading;
        host.output.write(command === undefined ? programHelp(program) : commandHelp(program, command));
        return exitCode.success;
      }
      case 'call':
        return await reading.call.command.run(reading.call);
    }
  } catch (error) {
    if (host.signal.aborted) return exitCode.interrupted;
    host.errors.write(`${sentenceOf(error)}\n`);
    return error instanceof Failure ? error.code : exitCode.failure;
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Failure || error instanceof KubeConfigError) return `error: ${error.message}`;
  if (error instanceof ApiError) return `error from the API server: ${error.message}`;
  if (error instanceof TransportError) return `error: the API server gives no answer: ${error.message}`;
  return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
