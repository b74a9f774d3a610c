/** What the history of a watcher tells of the changes that the operator has recorded. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { HandMade, watcher } from './hand-made.ts';

it('two changes are two, also where replicas date them to one millisecond', () => {
  const raises = (hash: string, since: string) => {
    const made = new HandMade([]).change('configwatchers', watcher('w'), 'ADDED', 'alice');
    const lastChangeTime = '2024-01-01T00:06:36.783Z';
    for (const pending of [
      { hash: 'v1:one', since: lastChangeTime },
      { hash, since },
    ]) {
      const status = { lastChangeTime, pending: { ...pending, cutoff: '2024-01-01T00:05:45Z' } };
      made.change('configwatchers', watcher('w', status), 'MODIFIED', 'replica-0');
    }
    const [run] = made.history.watchers.byUid.values();
    return run?.raises.map(({ hash }) => hash);
  };
  assert.deepEqual(raises('v1:two', '2024-01-01T00:06:36.784Z'), ['v1:one', 'v1:two']);
  // Other keys have another hash, and are no change.
  assert.deepEqual(raises('v1:two', '2024-01-01T00:06:36.783Z'), ['v1:one']);
  assert.deepEqual(raises('v1:one', '2024-01-01T00:06:36.784Z'), ['v1:one']);
});
