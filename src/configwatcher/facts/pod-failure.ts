/** Pod failure: which container of a Pod does not run, or did not the last time, and why. */
import type { ContainerStatus } from '../../kubernetes/objects.ts';

export interface PodFailure {
  readonly container: string;
  /** Of the state, such as `Error` or `CreateContainerConfigError`. */
  readonly reason: string;
  readonly exitCode?: number;
  /** The last line of its termination message. */
  readonly lastLine?: string;
}

/** Characters. */
const maxLastLine = 160;

/** The waiting reason of a container whose configuration cannot be resolved. */
const configError = 'CreateContainerConfigError';

/** Terminal control characters would reach the terminal of a user who reads the status with kubectl. */
function lastLineOf(text: string): string | undefined {
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  return last.replace(/\p{Cc}/gu, ' ').slice(0, maxLastLine) || undefined;
}

function isUnconfigured({ state }: ContainerStatus): boolean {
  return state?.waiting?.reason === configError;
}

/** Of several containers that have failed, the one that fails most says most: one beside it may have failed once, and run since. */
export function failureOf(statuses: readonly ContainerStatus[]): PodFailure | undefined {
  const unconfigured = statuses.find(isUnconfigured);
  if (unconfigured) return { container: unconfigured.name, reason: configError };
  const failures = statuses.flatMap(({ name: container, restartCount: restarts, state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    // A container that the kubelet starts again after it ended with 0 was meant to go on running.
    const isDone = ended?.exitCode === 0 && (restarts === 0 || state?.terminated !== undefined);
    return ended && !isDone ? [{ container, restarts, ended }] : [];
  });
  const [most] = failures.sort(
    (left, right) =>
      right.restarts - left.restarts ||
      Number(left.ended.exitCode === 0) - Number(right.ended.exitCode === 0),
  );
  if (!most) return undefined;
  const { message = '', exitCode, reason = 'Error' } = most.ended;
  const lastLine = lastLineOf(message);
  return { container: most.container, reason, exitCode, ...(lastLine !== undefined && { lastLine }) };
}
