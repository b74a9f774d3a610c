/**
 * Asked synchronously, right before each non-GET request is handed to the socket, whether this process may
 * still write. Everything asynchronous between the question and the send would be a hole in the fence.
 */
export interface WriteGate {
  /** @throws {TransportError} with `sent: false` when this process does not lead. */
  assertMayWrite(): void;
  /**
   * Milliseconds that a write may take at most, whatever its caller says: lease duration − renew deadline, so that
   * what a leader sends is over before another process may lead. Default 5 000.
   */
  readonly writeLimit?: number;
}

/** The gate of processes that run without leader election: every write may leave. */
export const openGate: WriteGate = { writeLimit: Number.POSITIVE_INFINITY, assertMayWrite() {} };
