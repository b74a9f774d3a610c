/** ManagerError: why the process must end with a failure, as one sentence for its operator. */
export class ManagerError extends Error {
  override readonly name = 'ManagerError';
}
