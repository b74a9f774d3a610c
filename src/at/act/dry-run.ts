/** Dry run: what the API server says against a Pod before it is due. */
import { atReason } from '../../api/at-constants.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import { pods } from '../../kubernetes/objects.ts';
import { ApiError, isForbidden, isInvalid } from '../../runtime/client/api-error.ts';
import type { WriteOptions } from '../../runtime/client/call-options.ts';
import type { Client } from '../../runtime/client/client.ts';
import { isStatusError } from '../../runtime/client/response-error.ts';
import type { Preflight } from '../facts/observed.ts';
import { isInvalidPod, isNoDryRun } from './create-answer.ts';
import { redact } from './redact.ts';

/** Marks the answer of a dry run about a field that does not exist: the create itself drops the field silently. */
const strictDecodingError = 'strict decoding error: ';

/**
 * @returns `warning`: what the API server says of a field that does not exist. `preflight`: whether it would take the
 *   Pod; absent where it gave no answer.
 */
export async function dryRun(
  client: Client,
  pod: Pod,
  signal: AbortSignal,
): Promise<{ readonly warning?: string; readonly preflight?: Preflight }> {
  const strict = await preflight(client, pod, { fieldValidation: 'Strict', signal });
  const refusal = strict?.rejection?.message;
  if (refusal?.includes(strictDecodingError) !== true) {
    return strict === undefined ? {} : { preflight: strict };
  }
  // Decoding comes first: what else there is against the Pod is still to be heard.
  const lenient = await preflight(client, pod, { signal });
  const warning = `${refusal}: the Pod is created without it`;
  return { warning, ...(lenient === undefined ? {} : { preflight: lenient }) };
}

/** Only what a user can mend is a rejection; any other answer, and none, says nothing about the Pod. */
async function preflight(client: Client, pod: Pod, options: WriteOptions): Promise<Preflight | undefined> {
  try {
    await client.create(pods, pod, { ...options, dryRun: true });
    return {};
  } catch (caught) {
    const error = redact(caught, pod);
    if (!(error instanceof ApiError) || !isStatusError(error) || isNoDryRun(error)) return undefined;
    if (error.code !== 400 && !isForbidden(error) && !isInvalid(error)) return undefined;
    const reason = isInvalidPod(error, pod) ? atReason.invalidTemplate : atReason.podRejected;
    return { rejection: { reason, message: error.message } };
  }
}
