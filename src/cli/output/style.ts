/** Style: colours, on a terminal only, and not where NO_COLOR is set (no-color.org). */
import type { Host, Output } from '../program/host.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'faint' | 'strong' | 'plain';

export type Style = { readonly [T in Tone]: (text: string) => string };

const codes: Readonly<Record<Exclude<Tone, 'plain'>, number>> = {
  strong: 1,
  faint: 2,
  bad: 31,
  good: 32,
  warn: 33,
  busy: 36,
};

export function styleOf(output: Output, env: Host['env']): Style {
  const isPlain = !output.isTerminal || (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  const paint = (tone: keyof typeof codes) => (text: string) =>
    isPlain || text === '' ? text : `\u001b[${codes[tone]}m${text}\u001b[0m`;
  return {
    good: paint('good'),
    bad: paint('bad'),
    warn: paint('warn'),
    busy: paint('busy'),
    faint: paint('faint'),
    strong: paint('strong'),
    plain: (text) => text,
  };
}
