/** docs/images/at-work.svg is drawn from what was recorded. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { draw } from '../../hack/picture/draw.ts';
import type { Trace } from '../../hack/picture/trace.ts';

it('the picture of the README shows the recorded run', async () => {
  const trace = JSON.parse(await readFile('docs/images/at-work.json', 'utf8')) as Trace;
  assert.equal(await readFile('docs/images/at-work.svg', 'utf8'), draw(trace), 'run make picture');
});
