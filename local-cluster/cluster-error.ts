/**
 * ClusterError: something that the person at the keyboard can act on. Its message is shown as it is, without a
 * stack; every other error is a defect of this harness.
 */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
}
