/** A host of programs under test: what they print is kept. */
import type { Host } from '../../src/cli/program/host.ts';
import { FakeClock } from '../fake/clock.ts';

export interface FakeHost extends Host {
  readonly printed: { output: string; errors: string };
}

export function fakeHost(args: readonly string[], env: Host['env'] = {}): FakeHost {
  const printed = { output: '', errors: '' };
  return {
    args,
    env,
    clock: new FakeClock(),
    zone: 'Europe/Berlin',
    output: {
      isTerminal: false,
      write: (text) => {
        printed.output += text;
      },
    },
    errors: {
      isTerminal: false,
      write: (text) => {
        printed.errors += text;
      },
    },
    signal: new AbortController().signal,
    printed,
  };
}
