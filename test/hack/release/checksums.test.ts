import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseChecksums, printChecksums, sha256Of } from '../../../hack/release/checksums.ts';

test('sha256sum reads what is written, and so does the parser', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sums-'));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const name of ['b.txt', 'a.txt']) writeFileSync(join(directory, name), name);
  const names = ['b.txt', 'a.txt'];
  const sums = new Map(
    await Promise.all(names.map(async (name) => [name, await sha256Of(join(directory, name))] as const)),
  );
  const text = printChecksums(sums);
  writeFileSync(join(directory, 'SHA256SUMS'), text);
  const said = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: directory, encoding: 'utf8' });
  assert.equal(said, 'a.txt: OK\nb.txt: OK\n');
  assert.deepEqual(parseChecksums(text), new Map([...sums].sort()));
});

test('a line that names a file elsewhere, or nothing, is refused', () => {
  const digest = 'a'.repeat(64);
  for (const line of [`${digest}  ../x`, `${digest} x`, 'x', `${digest}  a/b`]) {
    assert.throws(() => parseChecksums(`${line}\n`), /has a line/, line);
  }
});
