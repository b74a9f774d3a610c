/**
 * Shell program: the few commands that stories and conformance rows run in busybox, imitated. `sleep`, `echo`,
 * `exit`, `true`, `false` and `trap 'exit N' TERM`, one after the other; a server serves until it is stopped. A readiness probe that runs `false` never succeeds.
 */
import type { Behaviour, ContainerStart } from './program.ts';

interface Run {
  /** ms */
  elapsed: number;
  log: string;
  /** Of a handler for TERM. */
  trap: number | undefined;
  exitCode: number;
  exited: boolean;
}

export function shellProgram({ container }: ContainerStart): Behaviour {
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  const [first = ''] = words;
  if (words.length === 0) return {};
  const isShell = /(^|\/)(sh|ash|bash)$/.test(first) && words[1] === '-c';
  const run: Run = { elapsed: 0, log: '', trap: undefined, exitCode: 0, exited: false };
  const end = performAll(isShell ? statements(words[2] ?? '') : [words.join(' ')], run);
  if (end === 'unknown' && !isShell) return { startError: notFound(first) };
  const { trap, log, elapsed, exitCode } = run;
  const { exec } = (container.readinessProbe ?? {}) as { exec?: { command?: readonly string[] } };
  return {
    ...(exec?.command?.[0] === 'false' && { readyAfter: 'never' as const }),
    ...(end !== 'serves' && { exitAfter: elapsed, exitCode }),
    ...(trap !== undefined && { onTerm: { exitAfter: 10, exitCode: trap } }),
    ...(log !== '' && { log }),
  };
}

type End = 'done' | 'serves' | 'unknown';

function performAll(commands: readonly string[], run: Run): End {
  let end: End = 'done';
  for (const command of commands) {
    end = perform(command, run);
    if (end === 'serves' || run.exited) break;
  }
  return end;
}

function statements(script: string): readonly string[] {
  const parts = script.match(/(?:[^;&\n'"]|'[^']*'|"[^"]*"|&(?!&)|)+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '' && part !== '&');
}

function perform(command: string, run: Run): End {
  const [name = '', ...args] = command.split(/\s+/);
  switch (name) {
    case 'sleep':
      if (args[0] === 'infinity') return 'serves';
      run.elapsed += Number(args[0]) * 1000;
      return 'done';
    case 'echo':
      run.log += `${args.join(' ').replace(/>&2$/, '').replaceAll(/['"]/g, '').trim()}\n`;
      return 'done';
    case 'exit':
      run.exitCode = Number(args[0] ?? 0);
      run.exited = true;
      return 'done';
    case 'true':
    case 'wait':
      run.exitCode = 0;
      return 'done';
    case 'false':
      run.exitCode = 1;
      return 'done';
    case 'trap':
      run.trap = Number(/exit (\d+)/.exec(command)?.[1] ?? 0);
      return 'done';
    case 'httpd':
    case 'mini-http-server':
    case 'tail':
      return 'serves';
    default:
      run.exitCode = 127;
      run.log += `sh: ${name}: not found\n`;
      return 'unknown';
  }
}

function notFound(name: string): string {
  return (
    'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: ' +
    `unable to start container process: exec: "${name}": executable file not found in $PATH: unknown`
  );
}
