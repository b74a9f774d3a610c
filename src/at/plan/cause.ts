/** Cause: why an At is as it is, as its status says it. */
export interface Cause {
  /** One word in UpperCamelCase, for machines. */
  readonly reason: string;
  readonly message: string;
}

/** Whether there is a cause in place of what was asked for. */
export function isCause(value: object): value is Cause {
  return 'reason' in value;
}
