import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stopSocket } from '../../local-cluster/messages.ts';
import { sweep } from '../../local-cluster/sweep.ts';

/** Folders in a place of their own; `age` in milliseconds. */
function place(t: TestContext) {
  const parent = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(parent, { recursive: true }));
  const add = (name: string, { age = 0 } = {}) => {
    const directory = join(parent, name);
    mkdirSync(directory);
    const then = (Date.now() - age) / 1000;
    utimesSync(directory, then, then);
    return directory;
  };
  return { parent, add };
}

const long = 3_600_000;

test('the folder of a cluster whose supervisor is gone is removed', async (t) => {
  const { parent, add } = place(t);
  const withDeadSocket = add('atwatch-cluster-abc123');
  writeFileSync(join(withDeadSocket, stopSocket), '');
  const neverStarted = add('atwatch-cluster-Abc456', { age: long });
  assert.deepEqual((await sweep([parent])).sort(), [neverStarted, withDeadSocket].sort());
  assert.ok(!existsSync(withDeadSocket));
  assert.ok(!existsSync(neverStarted));
});

test('what is alive, just starting or of no cluster stays', async (t) => {
  const { parent, add } = place(t);
  const alive = add('atwatch-cluster-abc123', { age: long });
  const starting = add('atwatch-cluster-abc456');
  const other = add('atwatch-abc789', { age: long });
  const server = createServer().listen(join(alive, stopSocket));
  t.after(() => server.close());
  await once(server, 'listening');
  assert.deepEqual(await sweep([parent]), []);
  assert.ok([alive, starting, other].every((directory) => existsSync(directory)));
});
