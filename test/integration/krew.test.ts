/** The archives for Krew, made of what `make build` has built. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';

const run = promisify(execFile);

it('an archive is the same each time, and has the checksum that its manifest says', async () => {
  const pack = () => run(process.execPath, ['hack/krew.ts', 'https://example.org/releases/']);
  await pack();
  const manifest = parse(await readFile('dist/krew/at.yaml', 'utf8'));
  const [{ uri, sha256, files }] = manifest.spec.platforms;
  const file = `dist/krew/${uri.slice('https://example.org/releases/'.length)}`;
  assert.equal(
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex'),
    sha256,
  );
  const { stdout } = await run('tar', ['-tzf', file]);
  assert.deepEqual(
    stdout.trimEnd().split('\n').sort(),
    files.map(({ from }: { from: string }) => from).sort(),
  );
  await pack();
  assert.equal(parse(await readFile('dist/krew/at.yaml', 'utf8')).spec.platforms[0].sha256, sha256);
});
