/** What the workers of a kubelet share. */
import type { ClusterAccess, RandomSource } from '../cluster-ports.ts';
import type { Pod } from '../objects.ts';
import type { BackOff } from './back-off.ts';
import type { NodeDelays } from './container-host.ts';
import type { SourceReader } from './container-sources.ts';
import type { ImageStore } from './image-store.ts';
import type { ContainerEnd, ContainerStart, Program, SourceContent } from './program.ts';

/** The files of a Pod's volumes have followed their sources. */
export interface VolumeRefresh {
  readonly pod: Pod;
  readonly node: string;
  /** True time, epoch ms. */
  readonly at: number;
  readonly sources: readonly SourceContent[];
}

export interface NodeListener {
  onStart?(start: ContainerStart): void;
  onEnd?(end: ContainerEnd): void;
  onRefresh?(refresh: VolumeRefresh): void;
}

export interface KubeletServices {
  readonly node: string;
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  readonly delays: NodeDelays;
  readonly images: ImageStore;
  readonly backOff: BackOff;
  readonly program: Program;
  readonly listeners: readonly NodeListener[];
  /** The kubelet's wall clock, epoch ms. */
  clock(): number;
  /** False while its process does not run: containers go on, nothing else does. */
  readonly isActing: boolean;
  sourcesOf(namespace: string): SourceReader;
  /** Has the status of a Pod written soon. */
  report(key: string): void;
  /** Address of the next Pod. */
  nextAddress(): string;
  readonly address: string;
}
