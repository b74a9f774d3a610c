/** Program: what the process of a simulated container does, decided when it starts. */
import type { Container, Pod } from '../objects.ts';

export type ContainerRole =
  | 'main'
  | 'init'
  /** An init container with restartPolicy Always. */
  | 'sidecar';

/** The content of a ConfigMap or Secret that a container got. */
export interface SourceContent {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
  readonly through: 'env' | 'volume';
  /** Undefined with everything below where the object, which is optional, was not there. */
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** data and binaryData; Secrets and binary data in base64. */
  readonly data: Readonly<Record<string, string>> | undefined;
  /** The same for the same data: 16 hexadecimal digits, or the empty text for an absent object. */
  readonly digest: string;
}

/** One start of a container. */
export interface ContainerStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly role: ContainerRole;
  /** Counts from 1, for each container of a Pod. */
  readonly start: number;
  readonly node: string;
  /** True time, epoch ms. */
  readonly at: number;
  readonly env: Readonly<Record<string, string>>;
  /** By volume and file. */
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly sources: readonly SourceContent[];
}

/** What the process does. Without `exitAfter` it runs until it is stopped. */
export interface Behaviour {
  /** ms after its start. */
  readonly exitAfter?: number;
  /** Default 0. */
  readonly exitCode?: number;
  /**
   * ms after its start until it is found ready. Default: 1000 with a readinessProbe; a container without one is
   * ready at once.
   */
  readonly readyAfter?: number | 'never';
  /** The process cannot be started, with the runtime's sentence. */
  readonly startError?: string;
  /** How it takes SIGTERM. Default: as a first process without a handler does, not at all. */
  readonly onTerm?: { readonly exitAfter: number; readonly exitCode: number };
  /** What it has written to its output, by its end. */
  readonly log?: string;
  /** Of the terminated state; default Completed or Error. */
  readonly reason?: string;
}

export type Program = (start: ContainerStart) => Behaviour;

/** The end of a container. */
export interface ContainerEnd {
  readonly pod: Pod;
  readonly container: Container;
  readonly role: ContainerRole;
  readonly start: number;
  readonly node: string;
  /** True time, epoch ms. */
  readonly at: number;
  readonly exitCode: number;
}
