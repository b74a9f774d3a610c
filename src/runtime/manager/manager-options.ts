/** ManagerOptions: everything a Manager is made of. */
import type { Connection } from '../client/connect.ts';
import type { WriteGate } from '../client/write-gate.ts';
import type { Durations } from '../limits.ts';
import type { Randomness } from '../randomness.ts';
import type { ProbesOptions } from './probes.ts';
import type { StartupOptions } from './startup.ts';

/** The Lease to hold, and as whom. */
export interface LeaderElectionOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unlike any other process's, earlier ones on the same machine included: `host_uuid`. */
  readonly identity: string;
}

/** Options of a Manager that is made by hand; {@link createManager} fills in what is usual. */
export interface ManagerOptions extends StartupOptions, ProbesOptions, Durations {
  /**
   * Connects to the API server; called once, by the constructor. The gate is the Manager's: it is open only
   * while this process leads, so the connection must ask it before every write.
   */
  readonly connect: (gate: WriteGate) => Connection;
  /** Name of this process in Events: its host's name. */
  readonly instance: string;
  /** Default {@link systemRandomness}. */
  readonly randomness?: Randomness;
  /** Namespaces to watch. Empty or absent: all. */
  readonly namespaces?: readonly string[];
  /** Absent: this process always leads. */
  readonly leaderElection?: LeaderElectionOptions;
}
