import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atReason, holdReasons } from '../../src/api/at-constants.ts';
import { rowOf } from './coverage.ts';
import { states } from './states.ts';

const known = new Set(states.map(({ row }) => row));

function rowOfAt(status: object): string {
  return rowOf('ats', { metadata: { name: 'a' }, status } as never) ?? '';
}

describe('the coverage table', () => {
  it('has a row for everything that keeps a due At from its Pod', () => {
    for (const reason of holdReasons) {
      const row = rowOfAt({ phase: 'PENDING', reason });
      assert.ok(known.has(row), row);
    }
  });

  it('has a row for every way in which a run fails', () => {
    for (const reason of Object.values(atReason)) {
      const row = rowOfAt({ phase: 'DONE', outcome: 'Failed', reason });
      assert.ok(known.has(row), row);
    }
  });

  it('tells a content that is not certain and a restart that was given up from one that is applied', () => {
    for (const reason of ['UpToDate', 'ContentUncertain', 'RestartAbandoned']) {
      const conditions = [{ type: 'Progressing', status: 'False', reason }];
      const status = { appliedHash: 'v1:0', conditions };
      assert.equal(
        rowOf('configwatchers', { metadata: { name: 'a' }, status } as never),
        `ConfigWatcher ${reason}`,
      );
    }
  });
});
