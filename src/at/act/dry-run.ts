/** Dry run: what the API server says against a Pod before it is due. */
import type { Pod } from '../../kubernetes/objects.ts';
import { pods } from '../../kubernetes/objects.ts';
import { ApiError, isForbidden, isInvalid } from '../../runtime/client/api-error.ts';
import type { Client, WriteOptions } from '../../runtime/client/client.ts';
import { isUnreadable } from './create-answer.ts';
import { withoutLiterals } from './redact.ts';

/** In what a dry run is told of a field that does not exist: the create itself drops it without a word. */
const strictDecodingError = 'strict decoding error: ';

export interface DryRun {
  /** What the API server says of a field that does not exist. */
  readonly warning?: string;
  /** Why it would not take the Pod. */
  readonly rejection?: string;
}

export async function dryRun(client: Client, pod: Pod, signal: AbortSignal): Promise<DryRun> {
  const refusal = await refusalOf(client, pod, { fieldValidation: 'Strict', signal });
  if (refusal?.includes(strictDecodingError) !== true) {
    return refusal === undefined ? {} : { rejection: refusal };
  }
  // Decoding comes first: what else there is against the Pod is still to be heard.
  const rejection = await refusalOf(client, pod, { signal });
  const warning = `${refusal}: the Pod is created without it`;
  return { warning, ...(rejection === undefined ? {} : { rejection }) };
}

/** Only what the user can mend is worth a warning; a webhook may refuse dry runs as such, with a 400. */
async function refusalOf(client: Client, pod: Pod, options: WriteOptions): Promise<string | undefined> {
  try {
    await client.create(pods, pod, { ...options, dryRun: true });
  } catch (caught) {
    const error = withoutLiterals(caught, pod);
    if (error instanceof ApiError && (isForbidden(error) || isInvalid(error) || isUnreadable(error))) {
      return error.message;
    }
  }
  return undefined;
}
