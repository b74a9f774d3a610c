/** docs/operations.md names every reason that a status can have. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { atReason } from '../../src/api/at-constants.ts';
import { pendingReason, watcherReason } from '../../src/api/configwatcher-constants.ts';

describe('docs/operations.md', () => {
  for (const [what, reasons] of Object.entries({
    At: atReason,
    ConfigWatcher: watcherReason,
    pending: pendingReason,
  })) {
    it(`names each reason of ${what}`, async () => {
      const text = await readFile('docs/operations.md', 'utf8');
      const missing = Object.values(reasons).filter((reason) => !text.includes(`\`${reason}\``));
      assert.deepEqual(missing, []);
    });
  }
});
