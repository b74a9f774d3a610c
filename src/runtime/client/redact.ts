/**
 * Redaction: takes the values out of what the API server says about invalid objects. It quotes them, up
 * to the whole object, and an error ends up in logs, Events and conditions, where the content of a
 * ConfigMap or a command has no place. Field and reason stay.
 */
import type { Status } from './client.ts';

const marker = / value: /g;

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

/** A value is a quoted string, a JSON object or list, or a number or word before a colon. */
function endOfValue(message: string, start: number): number {
  switch (message[start]) {
    case '"':
      return endOfString(message, start);
    case '{':
    case '[':
      return endOfNested(message, start);
    default: {
      const word = /^[^\s:,]+(?=:)/.exec(message.slice(start, start + 100));
      return start + (word?.[0].length ?? 0);
    }
  }
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
