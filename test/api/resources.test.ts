import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ats, configWatchers, configWatchersCom } from '../../src/api/resources.ts';

const rows = [
  { resource: ats, file: 'crds/ats.yaml' },
  { resource: configWatchers, file: 'crds/configwatchers.yaml' },
  { resource: configWatchersCom, file: 'crds/com/configwatchers.yaml' },
];

for (const { resource, file } of rows) {
  test(`${resource.plural}.${resource.group} is the resource of ${file}`, async () => {
    const { metadata, spec } = parse(await readFile(file, 'utf8'));
    assert.equal(metadata.name, `${resource.plural}.${resource.group}`);
    assert.deepEqual(resource, {
      group: spec.group,
      version: spec.versions[0].name,
      plural: spec.names.plural,
      kind: spec.names.kind,
      namespaced: spec.scope === 'Namespaced',
    });
  });
}
