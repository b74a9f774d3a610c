import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RolloutRights } from '../../../src/configwatcher/act/rollout-rights.ts';

describe('RolloutRights', () => {
  it('learns from answers, namespace by namespace, and forgets a missing right after an hour', () => {
    let monotonic = 0;
    const rights = new RolloutRights({ monotonic: () => monotonic });
    assert.equal(rights.of('shop'), undefined);
    const refused = { uid: 'u', result: 'Refused', message: 'patch deployments' } as const;
    rights.learn('shop', { ...refused, cause: 'Conflict' });
    assert.equal(rights.of('shop'), undefined, 'no answer to the question');
    rights.learn('shop', { ...refused, cause: 'Forbidden' });
    rights.learn('lab', { uid: 'u', result: 'RolledOut' });
    assert.deepEqual(
      [rights.of('shop'), rights.of('lab'), rights.of('other')],
      ['Denied', 'Granted', undefined],
    );
    monotonic = 3_600_000;
    assert.equal(rights.of('shop'), undefined);
  });

  it('has no right that no policy keeps in bounds', () => {
    let isJailed = true;
    const rights = new RolloutRights({ monotonic: () => 0 }, () => isJailed);
    rights.learn('shop', { uid: 'u', result: 'RolledOut' });
    isJailed = false;
    assert.equal(rights.of('shop'), 'Denied');
    isJailed = true;
    assert.equal(rights.of('shop'), 'Granted');
  });
});
