import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { logOutcomes } from '../../../src/configwatcher/act/outcome-log.ts';
import type { Action } from '../../../src/configwatcher/decide/observed.ts';
import type { PodOutcome } from '../../../src/configwatcher/decide/restart-memory.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';

const pod = { name: 'web-1', uid: 'u' };
const evict: Action = { type: 'EvictPod', pod, owner: undefined };
const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' };
const rollout: Action = { type: 'RestartRollout', owner, annotations: {}, pods: ['a', 'b'] };
const refused = (cause: Extract<PodOutcome, { result: 'Refused' }>['cause']): PodOutcome => {
  return { uid: 'u', result: 'Refused', cause, message: 'why' };
};

describe('the log of a batch', () => {
  const rows: [string, Action, PodOutcome][] = [
    ['evicted a Pod', evict, { uid: 'u', result: 'Restarted' }],
    ['deleted a Pod', { ...evict, type: 'DeletePod' }, { uid: 'u', result: 'Restarted' }],
    ['changed a Pod template', rollout, { uid: 'u', result: 'RolledOut', pods: ['a', 'b'] }],
    ['a Pod is gone already', evict, { uid: 'u', result: 'Gone' }],
    ['an owner is gone already', rollout, { uid: 'u', result: 'Gone' }],
    ['a disruption budget keeps a Pod', evict, refused('Budget')],
    ['a Pod has more than one disruption budget', evict, refused('SeveralBudgets')],
    ['the API server asks to wait', evict, refused('Overload')],
    ['an owner has changed since it was read', rollout, refused('Conflict')],
    ['a right is missing', evict, refused('Forbidden')],
    ['a restart failed', evict, refused('Failure')],
  ];
  it('has a line per write, which says what became of it', () => {
    const lines: [unknown, unknown][] = [];
    const info = (fields: unknown, message?: unknown) => lines.push([fields, message]);
    const actions = rows.map(([, action]) => action);
    const outcomes = rows.map(([, , outcome]) => outcome);
    logOutcomes({ ...silentLogger, info }, actions, outcomes);
    assert.deepEqual(
      lines.map(([, message]) => message),
      rows.map(([message]) => message),
    );
    assert.deepEqual(lines[5]?.[0], { pod: 'web-1', ...refused('Budget') });
    assert.deepEqual(lines[2]?.[0], { owner: 'Deployment web', ...rows[2]?.[2] });
  });
});
