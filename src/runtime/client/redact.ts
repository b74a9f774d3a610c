/**
 * Redaction: takes the values out of what the API server says about invalid objects. It quotes them, up
 * to the whole object, and an error ends up in logs, Events and conditions, where the content of a
 * ConfigMap or a command has no place. Field and reason stay.
 */
import type { Status } from './client.ts';

/** After these comes a value (apimachinery, `field.Error`), where it is not followed by a sentence at once. */
const marker = / (?:value|found): /g;
/** `&core.Container{`, `map[string]string{`, `[]string{`, `map[`: what Go prints of a value that is no JSON. */
const goValue = /^[&*]*(?:map)?(?:\[[\w.]*\])*[\w./]*[{[]/;
const word = /^[^\s:,]+(?=:|, |\]|$)/;
/** Below the sentence that a field must not change the API server shows the object before and after. */
const difference = /(: Forbidden: [^\n]*)\n.*/s;
/** What a decoder quotes of the input, up to all of it. */
const decoderContext = /,? error found in #\d+ byte of .*$/s;
const decodedNumber = /(cannot unmarshal number) \S+/g;

/** The Status without the values in its message and its causes. */
export function redactStatus(status: Status): Status {
  const { message, details } = status;
  const causes = details?.causes?.map((cause) => ({ ...cause, message: redact(cause.message ?? '') }));
  return {
    ...status,
    ...(message !== undefined && { message: redact(message) }),
    ...(details !== undefined && { details: causes === undefined ? details : { ...details, causes } }),
  };
}

/** `spec.a: Invalid value: "x": must be y` → `spec.a: Invalid value: must be y`. */
export function redact(message: string): string {
  return withoutValues(message.replace(difference, '$1'))
    .replace(decoderContext, '')
    .replace(decodedNumber, '$1');
}

function withoutValues(message: string): string {
  let result = '';
  let position = 0;
  marker.lastIndex = 0;
  for (let match = marker.exec(message); match !== null; match = marker.exec(message)) {
    const start = match.index + match[0].length;
    const end = endOfValue(message, start);
    if (end === start) continue;
    result += message.slice(position, start);
    // The separator goes with the value.
    position = message.startsWith(': ', end) ? end + 2 : end;
    marker.lastIndex = position;
  }
  return result + message.slice(position);
}

/** A value is a quoted string, JSON, what Go prints of a structure, or a number or word before a separator. */
function endOfValue(message: string, start: number): number {
  if (message[start] === '"') return endOfString(message, start);
  const rest = message.slice(start);
  const [opening] = goValue.exec(rest) ?? [];
  if (opening !== undefined) return endOfNested(message, start + opening.length - 1);
  return start + (word.exec(rest.slice(0, 300))?.[0].length ?? 0);
}

function endOfString(message: string, start: number): number {
  for (let i = start + 1; i < message.length; i++) {
    if (message[i] === '\\') i++;
    else if (message[i] === '"') return i + 1;
  }
  return message.length;
}

function endOfNested(message: string, start: number): number {
  let depth = 0;
  for (let i = start; i < message.length; i++) {
    const character = message[i];
    if (character === '"') i = endOfString(message, i) - 1;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return i + 1;
  }
  return message.length;
}
