import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { historyOfAuditLog } from './audit-history.ts';
import { onlyLeadersWrite, withinRights } from './promises/writes.ts';

const replicaOf = ({ userAgent }: { readonly userAgent: string }) =>
  userAgent.startsWith('r') ? userAgent : undefined;

function line(
  userAgent: string,
  verb: string,
  resource: string,
  [received, answered]: readonly [number, number],
): string {
  const text = (ms: number) => `2030-01-31T09:00:00.${String(ms).padStart(3, '0')}000Z`;
  const objectRef = {
    resource,
    namespace: 'shop',
    name: 'one',
    apiGroup: resource === 'leases' ? 'coordination.k8s.io' : '',
  };
  const times = { requestReceivedTimestamp: text(received), stageTimestamp: text(answered) };
  return JSON.stringify({
    verb,
    requestURI: '/',
    userAgent,
    objectRef,
    responseStatus: { code: 200 },
    ...times,
  });
}

function broken(...lines: readonly string[]): string[] {
  const { violations } = historyOfAuditLog(lines, { promises: [onlyLeadersWrite, withinRights], replicaOf });
  return violations.map(({ promise, clue }) => `${promise} ${clue}`);
}

describe('the history of an audit log', () => {
  const taken = line('r1', 'update', 'leases', [1, 2]);
  const takenOver = line('r2', 'update', 'leases', [10, 11]);
  it('keeps the promises where only the holder of the Lease writes', () => {
    assert.deepEqual(
      broken(taken, line('r1', 'patch', 'pods', [3, 4]), takenOver, line('r2', 'patch', 'pods', [12, 13])),
      [],
    );
  });
  it('shows a write after the Lease was lost, by the order of the answers and not of the lines', () => {
    assert.deepEqual(broken(line('r1', 'patch', 'pods', [20, 21]), takenOver, taken), ['S11 lost lease']);
    assert.deepEqual(broken(taken, takenOver, line('r1', 'patch', 'pods', [9, 12])), []);
  });
  it('leaves out what others sent, and shows what is not granted', () => {
    assert.deepEqual(broken(line('kubectl', 'delete', 'nodes', [1, 2])), []);
    assert.deepEqual(broken(line('r1', 'list', 'nodes', [1, 2])), ['S13 list /nodes']);
  });
});
