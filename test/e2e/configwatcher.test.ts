import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually, installCrds, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';
import { editWatcher, podNames, replaced, restarted, served, setMessage, start } from './webapp.ts';

const books = '../shared/books/k8spatterns/io';
const booksAbsent = existsSync(books) ? false : `the books' manifests are not at ${books}`;

describe('ConfigWatcher on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  it('has the restarted Pod serve the new text, and restarts nothing for a label', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace);
    const before = await podNames(namespace);
    await namespace.kubectl('label', 'configmap', 'webapp-config', 'team=web');
    await setMessage(namespace, 'Hello again');
    await eventually('the new text', async () => (await served(namespace)).includes('Hello again'));
    await restarted(namespace, 1);
    await replaced(namespace, before);
    const columns = /^NAME +CONFIGMAP +PODSELECTOR +READY +STATE +PODS +STALE +LAST-RESTART +AGE$/m;
    const cells = /^webapp-config-watcher +webapp-config +\{"app":"webapp"\} +True +UpToDate +1 +0 /m;
    // That the old Pod is gone is counted a moment later.
    await eventually('its row', async () => {
      const table = await namespace.kubectl('get', 'cw');
      if (!cells.test(table)) throw new Error(table);
      assert.match(table, columns);
      return true;
    });
  });

  it("works with the book's own manifests unchanged", { skip: booksAbsent }, async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, [`${books}/operator-web-app.yml`, `${books}/operator-config-watcher-sample.yml`]);
    await setMessage(namespace, 'Greets from your smooth operator!');
    await eventually('the new text', async () => (await served(namespace)).includes('smooth operator'));
  });

  it('finds what changed while the operator was dead, and restarts once', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace);
    await editWatcher(namespace, { cooldown: { base: '0s' } });
    await operator.kill();
    await setMessage(namespace, 'While you were away');
    await operator.start();
    await eventually('the new text', async () => (await served(namespace)).includes('While you were away'));
    await restarted(namespace, 1);
    // A restart of the operator is no reason: the next count is that of the next edit.
    await operator.kill();
    await operator.start();
    await setMessage(namespace, 'And once more');
    await restarted(namespace, 2);
  });
});
