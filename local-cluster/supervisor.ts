/**
 * Supervisor: the process that a cluster's programs are children of. Its arguments: the cluster's folder.
 *
 * It has a session of its own, so Ctrl-C does not reach it, and a channel to the process that asked for the
 * cluster. When that channel closes, for whatever reason, everything is stopped. The data is thrown away
 * afterwards, so no program is asked to stop politely. A supervisor that is killed takes its children along where the
 * program setpriv can arrange that (Linux).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { endingWithParent } from './death-with-parent.ts';
import { type ComponentSpec, type FromSupervisor, stopSocket, type ToSupervisor } from './messages.ts';

const directory = process.argv[2];
if (directory === undefined || process.send === undefined) {
  throw new Error('the supervisor is started by the harness only');
}

const children = new Map<string, ChildProcess>();
/** In milliseconds: long enough for a port to become free, and not to fill the log. */
const restartDelay = 1000;
let detached = false;
let stopping = false;

function start(component: ComponentSpec): void {
  if (stopping) {
    return;
  }
  const { name, command, args, cwd, env } = component;
  const log = openSync(join(directory as string, 'logs', `${name}.log`), 'a');
  const guarded = endingWithParent('KILL', [command, ...args]);
  const [program = command, ...rest] = guarded ?? [command, ...args];
  const child = spawn(program, rest, {
    cwd: cwd ?? directory,
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  children.set(name, child);
  if (guarded === undefined) {
    // For the janitor, if we are killed.
    appendFileSync(join(directory as string, 'children'), `${child.pid ?? ''}\n`);
  }
  const exited = (reason: string) => {
    children.delete(name);
    tell({ type: 'exited', name, reason });
    exitWhenStopped();
    if (detached) {
      // No process is there to report it to.
      setTimeout(() => start(component), restartDelay);
    }
  };
  child.once('error', (error) => exited(error.message));
  child.once('exit', (code, signal) => exited(signal === null ? `exit code ${code}` : `signal ${signal}`));
}

function kill(name: string): void {
  children.get(name)?.kill('SIGKILL');
}

function stop(): void {
  stopping = true;
  for (const child of children.values()) {
    child.kill('SIGKILL');
  }
  exitWhenStopped();
}

function exitWhenStopped(): void {
  if (stopping && children.size === 0) {
    process.exit(0);
  }
}

function tell(message: FromSupervisor): void {
  if (process.connected) {
    process.send?.(message, undefined, undefined, () => {});
  }
}

function obey(message: ToSupervisor): void {
  switch (message.type) {
    case 'start':
      start(message.component);
      break;
    case 'kill':
      kill(message.name);
      break;
    case 'detach':
      detached = true;
      tell({ type: 'detached' });
      break;
    case 'stop':
      stop();
      break;
  }
}

process.on('message', obey);
process.on('disconnect', () => {
  if (!detached) {
    stop();
  }
});
process.on('SIGTERM', stop);
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (data) => {
    if (data.toString().startsWith('stop')) {
      stop();
    }
  });
}).listen(join(directory, stopSocket), () => tell({ type: 'ready' }));
