import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCrd, type Schema } from '../../src/scaffold/crd.ts';

const files = ['crds/ats.yaml', 'crds/configwatchers.yaml'];

function rulesOf(schema: Schema): { rule: string; message?: string }[] {
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])];
  return [...(schema['x-kubernetes-validations'] ?? []), ...inner.flatMap(rulesOf)];
}

test('while RUNNING every field of spec is immutable but cancel, suspend and ttlSecondsAfterFinished', async () => {
  const schema = (await readCrd('crds/ats.yaml')).version.schema.openAPIV3Schema;
  const rule = rulesOf(schema).find(({ message }) => message?.startsWith('is immutable'))?.rule ?? '';
  const fields = Object.keys(schema.properties?.spec?.properties ?? {});
  const free = fields.filter(
    (field) =>
      !rule.includes(
        `has(self.spec.${field}) == has(oldSelf.spec.${field}) && ` +
          `(!has(self.spec.${field}) || self.spec.${field} == oldSelf.spec.${field})`,
      ),
  );
  assert.deepEqual(free.sort(), ['cancel', 'suspend', 'ttlSecondsAfterFinished']);
});

for (const file of files) {
  test(`${file}: every rule has a message that reads as the end of a sentence`, async () => {
    const schema = (await readCrd(file)).version.schema.openAPIV3Schema;
    for (const { rule, message } of rulesOf(schema)) {
      assert.match(message ?? '', /^(?:[a-z]|Never).*[^.]$/s, rule);
    }
  });
}
