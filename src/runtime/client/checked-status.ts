/**
 * Checked status: a metav1.Status as it came from a server, with only those fields that have their types.
 * What answers may be a proxy or a broken webhook, and everything behind this module relies on the types.
 */
import type { Status } from './client.ts';

type Json = Readonly<Record<string, unknown>>;
type Details = NonNullable<Status['details']>;
type Cause = NonNullable<Details['causes']>[number];

/**
 * The Status, or undefined when the value is none. Without a kind, which proves that the API server has answered, it
 * is what the API server itself writes when the time of a request is over.
 */
export function checkedStatus(value: unknown): Status | undefined {
  if (!isJson(value) || (value.kind !== 'Status' && !isTimeout(value))) return undefined;
  const { kind, code, details } = value;
  return {
    ...(kind === 'Status' && { kind }),
    ...texts(value, 'status', 'reason', 'message'),
    ...(typeof code === 'number' && { code }),
    ...(isJson(details) && { details: checkedDetails(details) }),
  };
}

/** The one Status that the API server writes without kind and apiVersion. */
function isTimeout({ kind, apiVersion, status, reason, code, message }: Json): boolean {
  return (
    kind === undefined &&
    apiVersion === undefined &&
    status === 'Failure' &&
    reason === 'Timeout' &&
    code === 504 &&
    typeof message === 'string'
  );
}

function checkedDetails(details: Json): Details {
  const { retryAfterSeconds, causes } = details;
  return {
    ...texts(details, 'name', 'kind', 'group', 'uid'),
    ...(typeof retryAfterSeconds === 'number' && { retryAfterSeconds }),
    ...(Array.isArray(causes) && { causes: causes.filter(isJson).map(checkedCause) }),
  };
}

function checkedCause(cause: Json): Cause {
  return texts(cause, 'reason', 'message', 'field');
}

/** Those of the fields that are texts. */
function texts<K extends string>(value: Json, ...names: readonly K[]): { readonly [field in K]?: string } {
  const result: { [field in K]?: string } = {};
  for (const name of names) {
    const text = value[name];
    if (typeof text === 'string') result[name] = text;
  }
  return result;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
