/** Options of a simulated kubelet. */
import type { ClusterAccess, RandomSource } from '../cluster-ports.ts';
import type { NodeDelays } from './container-host.ts';
import type { NodeListener } from './kubelet-services.ts';
import type { Program } from './program.ts';

export interface KubeletOptions {
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  readonly name: string;
  /** What containers do. */
  readonly program: Program;
  /** Whether a registry has an image. Default: each. */
  readonly hasImage?: (image: string) => boolean;
  /** Default: no image. */
  readonly runsAsRoot?: (image: string) => boolean;
  readonly delays?: Partial<NodeDelays>;
  /** Default 110. */
  readonly maxPods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly listeners?: readonly NodeListener[];
  /** Third number of the addresses on this node. */
  readonly network?: number;
}

export const defaultDelays: NodeDelays = {
  notice: [5, 200],
  start: [50, 1000],
  settle: [1000, 5000],
  report: [5, 100],
  source: [500, 12_000],
  refresh: [60_000, 90_000],
};

/** When a status that could not be written is tried again, in ms. */
export const retryDelays: readonly [number, number] = [1000, 10_000];

export type KubeletState =
  | 'running'
  /** Its process has ended; containers go on. */
  | 'stopped'
  /** It acts, and reaches no API server. */
  | 'disconnected'
  /** The whole node is without power. */
  | 'off';
