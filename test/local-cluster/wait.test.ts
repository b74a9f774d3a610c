import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../../local-cluster/wait.ts';

const options = { what: 'it', limit: 40, interval: 1 };

test('errors and "not yet" are tried again until there is a result', async () => {
  const answers = [() => undefined, () => false, () => assert.fail('not yet'), () => 'here'];
  assert.equal(await waitFor(options, async () => answers.shift()?.()), 'here');
});

test('the limit ends the wait, with the last error', async () => {
  const refused = new Error('connection refused');
  await assert.rejects(
    waitFor(options, () => Promise.reject(refused)),
    {
      name: 'ClusterError',
      message: /gave up waiting for it after 0\.04 s: connection refused/,
      cause: refused,
    },
  );
});

test('a check that throws ends the wait at once', async () => {
  const dead = new Error('it has died');
  const check = () => {
    throw dead;
  };
  await assert.rejects(
    waitFor({ ...options, limit: 60_000, check }, async () => undefined),
    dead,
  );
});

test('a signal ends the wait', async () => {
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  await assert.rejects(
    waitFor({ ...options, limit: 60_000, signal }, async () => undefined),
    reason,
  );
});
