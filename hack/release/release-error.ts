/** Why a release cannot be made, or is not what it says, as sentences for people. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}
