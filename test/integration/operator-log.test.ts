import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { before, it } from 'node:test';
import { spawnOperator } from '../../hack/operator-process.ts';
import { applyCrds, withNamespace } from './support.ts';

before(() => applyCrds());

it('an operator whose log is not read any more ends when it is asked to', { timeout: 120_000 }, async (t) => {
  const namespace = await withNamespace(t);
  const flags = ['--leader-elect=false', `--namespaces=${namespace}`];
  const operator = spawnOperator(process.env.KUBECONFIG ?? '', { flags });
  t.after(() => operator.kill('SIGKILL'));
  const ended = once(operator, 'exit');
  for await (const line of createInterface({ input: operator.stdout })) {
    if (line.includes('"msg":"ready"')) break;
  }
  operator.stdout.destroy();
  operator.stderr.destroy();
  operator.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});
