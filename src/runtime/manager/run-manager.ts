/**
 * RunManager: a Manager for the life of a process: signals in, exit code out. The process is passed in, so
 * that nothing here touches the global one and a test can pass its own.
 */
import type { Manager } from './manager.ts';

/** The part of Node's `process` that {@link runManager} needs. */
export type HostProcess = Pick<NodeJS.Process, 'on' | 'exit' | 'stderr'>;

/**
 * Starts the manager and ends the process with it: 0 after the clean stop that the first SIGTERM or SIGINT
 * asks for; 1, after one sentence on standard error, when the manager fails. A second signal, whatever still
 * hangs, is 1 at once. An unhandled rejection or exception is fatal, because it is unknown what it left undone.
 *
 * @returns never, as long as `host.exit` does not.
 */
export async function runManager(
  manager: Pick<Manager, 'start' | 'fatal' | 'log'>,
  host: HostProcess,
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    host.on(signal, () => {
      if (stop.signal.aborted) host.exit(1);
      manager.log.info({ signal }, 'stopping');
      stop.abort();
    });
  }
  host.on('unhandledRejection', (reason) => manager.fatal(reason));
  host.on('uncaughtException', (error) => manager.fatal(error));
  const code = await manager.start(stop.signal).then(
    () => 0,
    (error: unknown) => {
      host.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    },
  );
  host.exit(code);
}
