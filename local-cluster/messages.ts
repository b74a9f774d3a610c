/**
 * Messages between a cluster's supervisor and the process that asked for the cluster.
 */

/** One program of the cluster, as the supervisor shall run it. */
export interface ComponentSpec {
  /** Names the log file, too. */
  name: string;
  command: string;
  args: readonly string[];
  /** The working directory; default the cluster's folder. */
  cwd?: string;
  /** In addition to the supervisor's own environment. */
  env?: Readonly<Record<string, string>>;
}

export type ToSupervisor =
  | { type: 'start'; component: ComponentSpec }
  | { type: 'kill'; name: string }
  /** From now on the cluster outlives the one who asked for it. */
  | { type: 'detach' }
  | { type: 'stop' };

export type FromSupervisor =
  | { type: 'ready' }
  | { type: 'detached' }
  | { type: 'exited'; name: string; reason: string };

/** The name of the socket on which a cluster that runs on its own takes the word "stop". */
export const stopSocket = 'supervisor.sock';
