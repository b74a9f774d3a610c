/** ManagerError: why the process must end with a failure, as one sentence for whoever started it. */
export class ManagerError extends Error {
  override readonly name = 'ManagerError';
}
