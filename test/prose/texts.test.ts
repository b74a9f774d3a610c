/** What is checked: no document and no source of printed texts drops out unnoticed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { documents } from '../../hack/vale/documents.ts';
import { printedTexts } from '../../hack/vale/printed-texts.ts';

const sentences: Readonly<Record<string, string>> = {
  'help of atwatch': '- `--metrics-bind-address` serve Prometheus metrics here',
  'help of kubectl at': '- `logs` Print the output of the command',
  'help of kubectl configwatcher': '- `wait` Wait until Pods with the present content run everywhere',
  alerts: 'atwatch does not run.',
  'messages of policies': 'the operator creates no privileged Pod',
  'messages of src': '- no Pod with an older content is left',
};

describe('the texts that are checked', () => {
  it('are those of every source, with a sentence that is known', async () => {
    const texts = new Map(await printedTexts());
    assert.deepEqual([...texts.keys()].sort(), Object.keys(sentences).sort());
    for (const [source, sentence] of Object.entries(sentences)) {
      assert.ok(texts.get(source)?.includes(sentence), `${source}: no "${sentence}"`);
    }
  });

  it('hold values as code, which no rule looks at', async () => {
    for (const [source, text] of await printedTexts()) assert.doesNotMatch(text, /\$\{|\{\{/, source);
  });

  it('include the documents of every folder', async () => {
    const found = await documents();
    for (const path of [
      'README.md',
      'docs/faq.md',
      'docs/migrate/at.md',
      'charts/atwatch/README.md',
      'examples/notes/README.md',
    ]) {
      assert.ok(found.includes(path), path);
    }
  });
});
