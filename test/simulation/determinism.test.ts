import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runStory } from './determinism-story.ts';

const script = new URL('./determinism.ts', import.meta.url).pathname;

describe('a seed', () => {
  it('gives the same run again, also in another process elsewhere on earth', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, '1', '3', '--check']);
    assert.match(stdout, /^3 of 3 seeds /);
  });

  it('gives another run than another seed', async () => {
    const hashes = [await runStory('1'), await runStory('2')].map(({ hash }) => hash);
    assert.notEqual(hashes[0], hashes[1]);
  });
});
