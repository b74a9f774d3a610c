/**
 * ErrorChain: reads an error and its causes, whatever was thrown. An error may be its own cause, and a property of
 * one may throw as well.
 */

/** How far down the chain of causes is looked. */
const deepestCause = 16;

/** The error and its causes, outermost first; nothing when it is no Error. */
export function* errorChain(error: unknown): Generator<Error, void, undefined> {
  let cause = error;
  for (let depth = 0; depth < deepestCause && cause instanceof Error; depth++) {
    yield cause;
    cause = readable(() => (cause as Error).cause);
  }
}

/** The message of an error, or what was thrown instead of an Error, as a text. Never throws. */
export function errorText(error: unknown): string {
  return readable(() => (error instanceof Error ? String(error.message) : String(error))) ?? 'no text';
}

/** The messages of an error and its causes, each once: `controller at failed: GET https://…: not found`. */
export function describeError(error: unknown): string {
  const texts: string[] = [];
  for (const cause of errorChain(error)) {
    const text = errorText(cause);
    if (text !== '' && !texts.some((earlier) => earlier.includes(text))) texts.push(text);
  }
  return texts.length === 0 ? errorText(error) : texts.join(': ');
}

function readable<R>(read: () => R): R | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
