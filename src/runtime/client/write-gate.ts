/**
 * WriteGate: asked synchronously, right before each non-GET request is handed to the socket, whether this
 * process may still write. Everything asynchronous between the question and the send would be a hole in
 * the fence.
 */
export interface WriteGate {
  /** @throws {TransportError} with `sent: false` when this process does not lead. */
  assertMayWrite(): void;
}

/** For processes that run without leader election. */
export const openGate: WriteGate = { assertMayWrite() {} };
