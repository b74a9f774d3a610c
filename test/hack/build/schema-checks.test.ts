import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';
import { compiledSchemaChecks } from '../../../hack/build/schema-checks.ts';
import { validateAt, validateConfigWatcher } from '../../../src/schema/validate.ts';
import { atRows, baseAtSpec, type Row } from '../../api/at-rows.ts';
import { baseConfigWatcherSpec, configWatcherRows } from '../../api/configwatcher-rows.ts';

const fromSource = { validateAt, validateConfigWatcher };

/** src/schema/validate.ts as it is in the bundle. */
async function bundledValidation(): Promise<typeof fromSource> {
  const { outputFiles, metafile } = await build({
    entryPoints: ['src/schema/validate.ts'],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    plugins: [compiledSchemaChecks],
  });
  const inputs = Object.keys(metafile.inputs);
  assert.ok(!inputs.some((path) => path.includes('/ajv/dist/compile/')), 'the compiler is in the bundle');
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString('base64')}`);
}

const bundled = await bundledValidation();

const wrongTypes: readonly Row[] = [
  { it: 'a number for a list', spec: { argv: 5, sources: 5 } },
  { it: 'a text for a map', spec: { template: 'x', podSelector: 'x' } },
  { it: 'nothing for an item', spec: { argv: [null], sources: [null], keys: [null] } },
] as never;

const kinds = [
  { kind: 'At', validate: 'validateAt', base: baseAtSpec, rows: atRows },
  {
    kind: 'ConfigWatcher',
    validate: 'validateConfigWatcher',
    base: baseConfigWatcherSpec,
    rows: configWatcherRows,
  },
] as const;

for (const { kind, validate, base, rows } of kinds) {
  test(`the bundle finds the same problems and defaults of every ${kind}`, () => {
    for (const row of [...rows, ...wrongTypes]) {
      const object = JSON.parse(
        JSON.stringify({ metadata: { name: 'x' }, spec: { ...base, ...row.spec }, status: { phase: 'x' } }),
      );
      assert.deepEqual(bundled[validate](object), fromSource[validate](object), row.it);
    }
  });
}
