import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cycloneDxOf, npmComponent, spdxOf } from '../../../hack/build/sbom.ts';

const product = npmComponent('it', '1.0.0', 'Apache-2.0');
const part = npmComponent('@scope/part', '2.0.0', 'MIT');
const library = { name: 'libc6', version: '2.36', purl: 'pkg:deb/debian/libc6@2.36' };

test('the same parts give the same bytes, other parts another document', () => {
  assert.equal(spdxOf(product, [part]), spdxOf(product, [part]));
  assert.equal(cycloneDxOf(product, [part]), cycloneDxOf(product, [part]));
  const namespaceOf = (text: string) => JSON.parse(text).documentNamespace;
  assert.notEqual(namespaceOf(spdxOf(product, [part])), namespaceOf(spdxOf(product, [library])));
});

test('SPDX says what the product contains', () => {
  const { packages, relationships } = JSON.parse(spdxOf(product, [part, library]));
  assert.deepEqual(
    packages.map(({ name, versionInfo, licenseDeclared }: Record<string, string>) => [
      name,
      versionInfo,
      licenseDeclared,
    ]),
    [
      ['it', '1.0.0', 'Apache-2.0'],
      ['@scope/part', '2.0.0', 'MIT'],
      ['libc6', '2.36', 'NOASSERTION'],
    ],
  );
  assert.equal(packages[1].externalRefs[0].referenceLocator, 'pkg:npm/%40scope/part@2.0.0');
  const identifiers = new Set(packages.map(({ SPDXID }: { SPDXID: string }) => SPDXID));
  assert.equal(identifiers.size, 3);
  const contained = relationships.filter(
    ({ relationshipType }: { relationshipType: string }) => relationshipType === 'CONTAINS',
  );
  assert.equal(contained.length, 2);
});

test('CycloneDX has no time, no serial number, and no licence where none is known', () => {
  const document = JSON.parse(cycloneDxOf(product, [part, library]));
  assert.equal(document.serialNumber, undefined);
  assert.equal(document.metadata.timestamp, undefined);
  assert.deepEqual(document.components[0].licenses, [{ expression: 'MIT' }]);
  assert.equal('licenses' in document.components[1], false);
});
