/**
 * One level of a {@link Logger}, with pino's two forms of a call.
 *
 * Fields first, then a constant sentence. Field names: `controller`, `namespace`, `name`, `reconcileID`,
 * `err`. Values of ConfigMaps and Secrets, tokens and command text never go above `debug`.
 */
export interface LogMethod {
  (fields: object, message: string): void;
  (message: string): void;
}

/** Where the runtime logs. A pino logger is one. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** A logger that adds these fields to every line. */
  child(fields: object): Logger;
}

/** How far down the chain of causes a log line goes. */
const deepestCause = 4;

/**
 * What a log line shows of an error, for pino's `serializers.err`: what kind and why, down the chain of
 * causes. The stack only of unexpected errors; an answer of the API server and a cut connection
 * say all with their message.
 */
export function errorFields(error: unknown): unknown {
  try {
    return error instanceof Error ? fieldsOf(error, 0) : error;
  } catch {
    return { type: 'Error', message: 'an error that cannot be read' };
  }
}

function fieldsOf(error: Error, depth: number): object {
  const { name, message, stack, cause } = error;
  const { code, reason, sent } = error as { code?: unknown; reason?: unknown; sent?: unknown };
  const isExpected = name === 'ApiError' || name === 'TransportError';
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    ...(typeof reason === 'string' && reason !== '' && { reason }),
    ...(typeof sent === 'boolean' && { sent }),
    ...(depth === 0 && !isExpected && { stack }),
    ...(cause instanceof Error && depth < deepestCause && { cause: fieldsOf(cause, depth + 1) }),
  };
}

/** A logger that says nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
