import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusPatch } from '../../../src/at/act/status-patch.ts';
import { finished, waiting } from '../../fixtures/at.ts';

describe('statusPatch', () => {
  it('is nothing when nothing changes, whatever the order of the fields', () => {
    const at = finished();
    const reversed = Object.fromEntries(Object.entries(at.status ?? {}).reverse());
    assert.equal(statusPatch(at, reversed), undefined);
  });

  it('sets what is new, removes what is gone, and is bound to the version', () => {
    const at = { ...waiting(), status: { phase: 'PENDING', reason: 'Armed', podName: 'p' } } as const;
    assert.deepEqual(statusPatch(at, { phase: 'RUNNING', podName: 'p', attempts: 1 }), {
      metadata: { resourceVersion: '10' },
      status: { phase: 'RUNNING', reason: null, attempts: 1 },
    });
  });
});
