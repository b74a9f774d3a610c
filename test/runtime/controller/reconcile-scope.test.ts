/** ReconcileScope: that it follows the code of a reconcile, also to an error that nothing handles. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { currentScope, inScope } from '../../../src/runtime/controller/reconcile-scope.ts';

const scopeModule = fileURLToPath(
  new URL('../../../src/runtime/controller/reconcile-scope.ts', import.meta.url),
);

test('two reconciles at once have a scope each, and what comes after them has none', async () => {
  const seen: (string | undefined)[] = [];
  const run = (name: string) =>
    inScope({ controller: 'at', request: { namespace: 'default', name }, wrote() {} }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(currentScope()?.request.name);
    });
  await Promise.all([run('a'), run('b')]);
  seen.push(currentScope()?.request.name);
  assert.deepEqual(seen, ['a', 'b', undefined]);
});

/** Fails in a reconcile, in the given way, and prints which object that was for. */
function program(failure: string): string {
  return `
    import { currentScope, inScope } from ${JSON.stringify(scopeModule)};
    for (const event of ['unhandledRejection', 'uncaughtException']) {
      process.on(event, ({ message }) => console.log(message, currentScope()?.request.name));
    }
    const scope = { controller: 'at', request: { namespace: 'default', name: 'a' }, wrote() {} };
    await inScope(scope, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      ${failure}
    });
  `;
}

for (const [name, failure] of [
  ['a promise that is not awaited', `void Promise.resolve().then(() => { throw new Error('lost') });`],
  ['a timer', `setTimeout(() => { throw new Error('lost') }, 1);`],
] as const) {
  test(`the error of ${name} is traced to its object`, async () => {
    const options = ['--input-type=module', '--eval', program(failure)];
    const { stdout } = await promisify(execFile)(process.execPath, options);
    assert.equal(stdout, 'lost a\n');
  });
}
