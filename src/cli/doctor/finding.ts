/** Finding: what a doctor says of one thing, and what to do about it. */
import { ApiError } from '../../runtime/client/api-error.ts';
import type { Style } from '../output/style.ts';

export interface Finding {
  readonly verdict: 'ok' | 'warn' | 'bad' | 'unknown';
  /** What was found. */
  readonly text: string;
  /** What to do. */
  readonly remedy?: string;
}

export function ok(text: string): Finding {
  return { verdict: 'ok', text };
}

export function warn(text: string, remedy: string): Finding {
  return { verdict: 'warn', text, remedy };
}

export function bad(text: string, remedy: string): Finding {
  return { verdict: 'bad', text, remedy };
}

export function unknown(text: string): Finding {
  return { verdict: 'unknown', text };
}

const labels = { ok: 'ok', warn: 'WARN', bad: 'FAIL', unknown: '?' };
const tones = { ok: 'good', warn: 'warn', bad: 'bad', unknown: 'faint' } as const;
const width = 6;

export function findingLines({ verdict, text, remedy }: Finding, style: Style): readonly string[] {
  const label = style[tones[verdict]](labels[verdict]) + ' '.repeat(width - labels[verdict].length);
  return [
    `${label}${text}`,
    ...(remedy === undefined ? [] : [`${' '.repeat(width)}${style.strong('do:')} ${remedy}`]),
  ];
}

/** What a request gives; undefined where there is no right to ask, or no such resource. */
export async function permitted<R>(request: Promise<R>): Promise<R | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 403 || error.code === 404)) return undefined;
    throw error;
  }
}
