/** Host: what a program sees of its process. Only the main files know the process itself. */
import type { Clock } from '../../runtime/clock.ts';

export interface Output {
  write(text: string): void;
  /** Whether a person reads it; only then it has colours. */
  readonly isTerminal: boolean;
  /** Characters in a line of the terminal. */
  readonly columns?: number | undefined;
}

export interface Host {
  /** Without the program's own name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Name of this machine's time zone. */
  readonly zone: string;
  readonly output: Output;
  readonly errors: Output;
  /** Aborted when the person has had enough of it (Ctrl-C). */
  readonly signal: AbortSignal;
}
