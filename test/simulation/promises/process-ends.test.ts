import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { begin, HandMade } from '../hand-made.ts';

const replica = 'replica-0#1';
const lost = 'lost the leader lease atwatch-system/atwatch: replica-1#1 holds it now\n';
const unreachable = 'cannot reach the API server at https://kubernetes.default.svc: connection refused\n';
const late = 'stopped, but not within 20 s: at (shop/example)\n';

/** A process that has logged this, and ends so. */
function broken(logged: readonly string[], code: number, stderr = ''): readonly string[] {
  const made = new HandMade(['S17']).add({ type: 'replica', time: begin, replica, state: 'started' });
  for (const text of logged) made.add({ type: 'log', time: begin, replica, level: 'info', text });
  made.add({ type: 'replica', time: begin, replica, state: 'exited', end: { code, stderr } });
  return made.broken;
}

const ready = 'ready {"leaderElection":true}';
const stopping = 'stopping {"signal":"SIGTERM"}';

describe('S17, what ends a process', () => {
  for (const [what, logged, code, stderr] of [
    ['a stop that was asked for', [ready, stopping], 0, ''],
    ['a second signal', [ready, stopping], 1, ''],
    ['a signal before there is a handler', [], 143, ''],
    ['a stop that takes too long', [ready, stopping], 1, late],
    ['a lost lease', [ready], 1, lost],
    ['an API server that cannot be reached at its start', [], 1, unreachable],
  ] as const) {
    it(`is kept by ${what}`, () => {
      assert.deepEqual(broken(logged, code, stderr), []);
    });
  }

  for (const [what, logged, code, stderr] of [
    ['an end without a reason', [ready], 0, ''],
    ['an error without a sentence', [], 1, ''],
    ['a stack trace', [ready], 1, 'TypeError: x is undefined\n    at f (file.ts:1:1)\n'],
    ['an API server that cannot be reached later', [ready], 1, unreachable],
    ['a stop that takes too long and was not asked for', [ready], 1, late],
  ] as const) {
    it(`is broken by ${what}`, () => {
      assert.deepEqual(broken(logged, code, stderr), ['S17 end']);
    });
  }
});
