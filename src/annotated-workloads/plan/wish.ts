/** Wish: what the annotations of a workload ask for. */
import type { ConfigWatcherSpec, ConfigWatcherSpecSource } from '../../api/configwatcher.generated.ts';

export type Source = ConfigWatcherSpecSource;

/** Fields of the spec beside sources and selector. */
export type Options = Partial<Omit<ConfigWatcherSpec, 'sources' | 'podSelector' | 'podSelectorExpressions'>>;

export interface Wish {
  /** Empty: there is nothing to watch. */
  readonly sources: readonly Source[];
  readonly options: Options;
  /** Sentences about what is not taken over, each with what to write instead. */
  readonly remarks: readonly string[];
}

/** The annotations cannot be followed. The text says which and why. */
export interface Invalid {
  readonly invalid: string;
}
