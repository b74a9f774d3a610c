/** What one simulated container needs of the kubelet that leads it. */
import type { RandomSource, SimulatedTime } from '../cluster-ports.ts';
import type { BackOff } from './back-off.ts';
import type { ImageStore } from './image-store.ts';
import type { Behaviour } from './program.ts';

/** How long things take on a node, in ms. */
export interface NodeDelays {
  /** Until the kubelet notices a change of a Pod. */
  readonly notice: readonly [number, number];
  /** From the image to the start of the process. */
  readonly start: readonly [number, number];
  /** Between an error and the next look at the container. */
  readonly settle: readonly [number, number];
  /** Until a changed status is written. */
  readonly report: readonly [number, number];
  /** Until a changed source is seen by a container that waits for it. */
  readonly source: readonly [number, number];
  /** Until a changed source is in the files of the running containers. */
  readonly refresh: readonly [number, number];
}

export interface ContainerHost {
  readonly time: SimulatedTime;
  readonly random: RandomSource;
  readonly delays: NodeDelays;
  readonly images: ImageStore;
  readonly backOff: BackOff;
  readonly podUid: string;
  /** As in messages: name, namespace and uid. */
  readonly podTitle: string;
  /** The kubelet's wall clock, epoch ms. */
  clock(): number;
  /**
   * Asks the program what the process does; `announce` tells of the start.
   *
   * @throws ConfigError when the container cannot be configured.
   */
  make(start: number): { readonly behaviour: Behaviour; readonly announce: () => void };
  /** Whether the Pod's restartPolicy lets it start again after this end. */
  mayRestart(exitCode: number): boolean;
  /** Calls once when a source of the Pod has changed. */
  whenSourcesChange(run: () => void): void;
  /** Its status is another one. */
  changed(): void;
  ended(start: number, exitCode: number): void;
}
