/** The paths that the books' commands name lead to samples of this project. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { parseAllDocuments } from 'yaml';

const kinds = {
  'config/samples/cnat_v1alpha1_at.yaml': ['At'],
  'artifacts/examples/cnat-example.yaml': ['At'],
  'deploy/crds/cnat_v1alpha1_at_cr.yaml': ['At'],
  'advanced/Operator/config-watcher-sample.yml': ['ConfigWatcher'],
  'advanced/Operator/web-app.yml': ['ConfigMap', 'Deployment', 'Service'],
};

for (const [path, expected] of Object.entries(kinds)) {
  it(`${path} has the kinds of the book's file, and docs/books.md names it`, async () => {
    const documents = parseAllDocuments(await readFile(path, 'utf8'));
    assert.deepEqual(
      documents.map((document) => document.get('kind')),
      expected,
    );
    assert.ok((await readFile('docs/books.md', 'utf8')).includes(path.split('/').at(-1) ?? path));
  });
}
