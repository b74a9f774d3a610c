import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { logOutcomes } from '../../../src/configwatcher/act/outcome-log.ts';
import type { Action } from '../../../src/configwatcher/decide/decision.ts';
import type { PodOutcome } from '../../../src/configwatcher/facts/restart-memory.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';

const pod = { name: 'web-1', uid: 'u' };
const evict: Action = { type: 'EvictPod', pod, owner: undefined };
const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' };
const rollout: Action = { type: 'RestartRollout', owner, annotations: {} };
const refused = (cause: Extract<PodOutcome, { result: 'Refused' }>['cause']): PodOutcome => {
  return { uid: 'u', result: 'Refused', cause, message: 'why' };
};

describe('the log of a batch', () => {
  const rows: [string, Action, PodOutcome][] = [
    ['evicted a Pod', evict, { uid: 'u', result: 'Restarted' }],
    ['deleted a Pod', { ...evict, type: 'DeletePod' }, { uid: 'u', result: 'Restarted' }],
    ['changed a Pod template', rollout, { uid: 'u', result: 'RolledOut' }],
    ['set a Pod template back', { ...rollout, type: 'TakeBackRollout' }, { uid: 'u', result: 'TakenBack' }],
    ['a Pod is gone already', evict, { uid: 'u', result: 'Gone' }],
    ['an owner is gone already', rollout, { uid: 'u', result: 'Gone' }],
    ['a disruption budget keeps a Pod', evict, refused('Budget')],
    ['a Pod has more than one disruption budget', evict, refused('SeveralBudgets')],
    ['the API server asks to wait', evict, refused('Overload')],
    ['an owner has changed since it was read', rollout, refused('Conflict')],
    ['a right is missing', evict, refused('Forbidden')],
    ['a restart was not answered', evict, refused('NoAnswer')],
    ['a restart failed', evict, refused('Failure')],
  ];
  it('has a line per write, which says what became of it', () => {
    const lines: [unknown, unknown][] = [];
    const info = (fields: unknown, message?: unknown) => lines.push([fields, message]);
    const actions = rows.map(([, action]) => action);
    const outcomes = rows.map(([, , outcome]) => outcome);
    logOutcomes({ ...silentLogger, info }, actions, outcomes, new Map());
    assert.deepEqual(
      lines.map(([, message]) => message),
      rows.map(([message]) => message),
    );
    assert.deepEqual(lines[6]?.[0], { pod: 'web-1', ...refused('Budget') });
    assert.deepEqual(lines[2]?.[0], { owner: 'Deployment web', ...rows[2]?.[2] });
  });

  it('has a line for a repeated refusal when it changes, and about once an hour', () => {
    const lines: unknown[] = [];
    const info = (_fields: unknown, message?: unknown) => lines.push(message);
    const log = (cause: Parameters<typeof refused>[0], attempts: number) => {
      const before = { cause: 'Budget', attempts, retryAt: 0, message: 'why' } as const;
      logOutcomes({ ...silentLogger, info }, [evict], [refused(cause)], new Map([['u', before]]));
    };
    for (let attempts = 1; attempts < 60; attempts++) log('Budget', attempts);
    assert.equal(lines.length, 0);
    log('Budget', 60);
    log('Failure', 61);
    assert.deepEqual(lines, ['a disruption budget keeps a Pod', 'a restart failed']);
    const failed = (message: string) => {
      const before = { cause: 'Failure', attempts: 2, retryAt: 0, message } as const;
      logOutcomes({ ...silentLogger, info }, [evict], [refused('Failure')], new Map([['u', before]]));
      return lines.length;
    };
    assert.equal(failed('why'), 2);
    assert.equal(failed('another policy'), 3, 'the words of a failure are its cause');
  });
});
