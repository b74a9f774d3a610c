/** The annotation restart-now: what a user asks for, and what is there to begin with. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import {
  applied,
  decided,
  newContent,
  observed,
  oldContent,
  ownedBy,
  several,
} from '../../fixtures/configwatcher.ts';

describe('restart-now', () => {
  const pods = several(1);
  const asked = {
    restartNow: 'please',
    sources: [{ ...oldContent, confirmed: false }],
    pods,
    owners: ownedBy(1),
  };

  it('has the sources read where no change waits: the watch may not show yet what it is asked for', () => {
    assert.deepEqual(decide(observed(asked)), { need: 'contents' });
    const { state, actions } = decided({ ...asked, sources: [newContent] });
    assert.deepEqual([state.restartNow, state.pending?.reason, actions.length], ['please', 'InProgress', 1]);
  });

  it('says that nothing waits once the sources were read, and reads no more for it', () => {
    const { state, events } = decided({ ...asked, sources: [oldContent] });
    assert.deepEqual([state.restartNow, events.map(({ reason }) => reason)], ['please', ['NothingPending']]);
    const honored = { ...applied(), restartNow: 'please' };
    assert.deepEqual(decided({ ...asked, state: honored }).events, []);
  });
});
