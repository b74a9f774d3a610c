/** The lists of CONTRIBUTING.md: for each place that they name, a test that fails when it is forgotten. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { type At, atSchema } from '../src/api/at.generated.ts';
import { atEvent, atReason } from '../src/api/at-constants.ts';
import { configWatcherSchema } from '../src/api/configwatcher.generated.ts';
import {
  ownerReason,
  pendingReason,
  watcherEvent,
  watcherReason,
} from '../src/api/configwatcher-constants.ts';
import * as resources from '../src/api/resources.ts';
import { specHash } from '../src/at/plan/run.ts';
import { parseCommandLine } from '../src/config.ts';
import { flags } from '../src/flags.ts';

async function pathsOf(patterns: readonly string[]): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const path of glob([...patterns])) paths.push(path);
  return paths.sort();
}

/** The texts of the files that match, one after the other. */
async function textOf(...patterns: readonly string[]): Promise<string> {
  const paths = await pathsOf(patterns);
  assert.ok(paths.length > 0, `no file is ${patterns.join(' or ')}`);
  return (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('\n');
}

/** Those of the words that do not stand in the text. */
function missingIn(text: string, words: readonly string[]): string[] {
  return words.filter(
    (word) => !new RegExp(`(?<![\\w-])${word.replaceAll('.', '\\.')}(?![\\w-])`).test(text),
  );
}

interface Properties {
  readonly properties: Readonly<
    Record<string, Properties & { readonly enum?: readonly string[]; readonly items?: Properties }>
  >;
}

/** The names of the fields of an object, and of what is in it. */
function namesOf({ properties = {} }: Partial<Properties>): string[] {
  return Object.entries(properties).flatMap(([name, one]) => [
    name,
    ...namesOf(one),
    ...namesOf(one.items ?? {}),
  ]);
}

const kinds = { at: atSchema, configwatcher: configWatcherSchema } as const;

describe('a field', () => {
  for (const [folder, schema] of Object.entries(kinds)) {
    const { spec, status } = (schema as unknown as Properties).properties;
    for (const [part, one] of Object.entries({ spec, status })) {
      it(`of the ${part} in crds/ is used in src/${folder}`, async () => {
        assert.deepEqual(missingIn(await textOf(`src/${folder}/**/*.ts`), namesOf(one ?? {})), []);
      });
    }

    it(`of the spec in crds/ has a row in test/api/${folder}-rows.ts`, async () => {
      const rows = await textOf(`test/api/${folder}-rows.ts`);
      assert.deepEqual(missingIn(rows, namesOf(spec ?? {})), []);
    });
  }

  it('of the status that src/configwatcher writes stands in crds/', async () => {
    const source = await textOf('src/configwatcher/decide/watcher-status.ts');
    const written = [...source.matchAll(/\bgiven\(\s*'(\w+)'/g)].map(([, name]) => name ?? '');
    const { status } = (configWatcherSchema as unknown as Properties).properties;
    assert.ok(written.length > 10, written.join());
    const known = namesOf(status ?? {});
    assert.deepEqual(
      written.filter((name) => !known.includes(name)),
      [],
    );
  });

  it('of the spec of At is one that an edit after the launch comes too late for, or is named here', () => {
    // They decide when it runs, or what is shown or deleted afterwards; none is written on the Pod.
    const free = ['schedule', 'timeZone', 'startingDeadlineSeconds', 'suspend', 'cancel', 'launchGuarantee'];
    const { spec } = (atSchema as unknown as Properties).properties;
    const at = { metadata: { name: 'at' }, spec: { schedule: '2030-01-31T09:00:00Z' } } as At;
    const before = specHash(at);
    const unknown = Object.keys(spec?.properties ?? {}).filter(
      (name) => specHash({ ...at, spec: { ...at.spec, [name]: 'another' } }) === before,
    );
    assert.deepEqual(unknown.sort(), [...free, 'outputInStatus', 'ttlSecondsAfterFinished'].sort());
  });
});

describe('a reason', () => {
  const ofKind = {
    at: [atReason, atEvent],
    configwatcher: [watcherReason, pendingReason, ownerReason, watcherEvent],
  } as const;
  for (const [folder, reasons] of Object.entries(ofKind)) {
    it(`in src/api is given by src/${folder}`, async () => {
      const source = await textOf(`src/${folder}/**/*.ts`);
      const unused = reasons
        .flatMap(Object.entries)
        .filter(([name, word]) => missingIn(source, [name, word]).length > 1);
      assert.deepEqual(unused, []);
    });
  }

  for (const [folder, words] of Object.entries(ofKind)) {
    it(`is given by src/${folder} by its name in src/api, or as one of its words`, async () => {
      const given = [...(await textOf(`src/${folder}/**/*.ts`)).matchAll(/\breason: '([A-Z]\w+)'/g)];
      const known = new Set<string>(words.flatMap(Object.values));
      assert.deepEqual(
        given.map(([, word]) => word ?? '').filter((word) => !known.has(word)),
        [],
      );
    });
  }

  it('of a status is explained in docs/operations.md, and an Event is named there', async () => {
    const operations = await textOf('docs/operations.md');
    const words = [atReason, atEvent, watcherReason, pendingReason, ownerReason, watcherEvent].flatMap(
      Object.values,
    );
    assert.deepEqual(missingIn(operations, [...new Set(words)]), []);
  });
});

describe('a strategy', () => {
  const { spec } = (configWatcherSchema as unknown as Properties).properties;
  const strategies = spec?.properties.strategy?.properties.type?.enum ?? [];

  it('has a row of its own, also in every test of crashes', async () => {
    assert.ok(strategies.length > 2);
    for (const path of [
      'src/configwatcher/plan/strategies.ts',
      'test/configwatcher/restart-cut.test.ts',
      'test/configwatcher/restart-once.test.ts',
      'test/configwatcher/lost-answers.test.ts',
    ]) {
      assert.deepEqual(missingIn(await textOf(path), strategies), [], path);
    }
  });
});

describe('a metric', () => {
  it('is named in the documents, and in its test', async () => {
    const source = await textOf('src/at/**/*.ts', 'src/configwatcher/**/*.ts');
    const named = [...source.matchAll(/(?:'atwatch_|named\('|sum\(\s*')(\w+)'/g)].map(
      ([, name]) => name ?? '',
    );
    assert.ok(named.length > 10, named.join());
    for (const patterns of [
      ['README.md', 'docs/*.md', 'config/prometheus/*'],
      ['test/at/**/*.ts', 'test/configwatcher/**/*.ts'],
    ]) {
      const text = await textOf(...patterns);
      assert.deepEqual(
        named.filter((name) => !text.includes(name)),
        [],
        patterns.join(),
      );
    }
  });
});

describe('a flag', () => {
  it('is read in src/config.ts', async () => {
    const text = await textOf('src/config.ts');
    assert.deepEqual(
      flags.map(({ name }) => name).filter((name) => !text.includes(`'${name}'`)),
      [],
    );
  });

  it('reaches the operator', async () => {
    const command = parseCommandLine([], {});
    assert.ok('config' in command);
    const text = await textOf('src/operator.ts');
    assert.deepEqual(missingIn(text, Object.keys(command.config)), []);
  });

  for (const path of ['docs/operations.md', 'charts/atwatch/templates/*', 'test/config.test.ts']) {
    it(`stands in ${path}`, async () => {
      const text = await textOf(path);
      const missing = flags.filter(
        ({ name, env }) => ![`--${name}`, ...env].some((way) => text.includes(way)),
      );
      assert.deepEqual(
        missing.map(({ name }) => name),
        [],
      );
    });
  }
});

describe('a kind', () => {
  const places: Readonly<Record<keyof typeof kinds, { readonly file: string; readonly sample: string }>> = {
    at: { file: 'crds/ats.yaml', sample: 'cnat_v1alpha1_at' },
    configwatcher: { file: 'crds/configwatchers.yaml', sample: 'k8spatterns_v1_configwatcher' },
  };
  for (const [folder, { file, sample }] of Object.entries(places)) {
    const { group, names } = parse(readFileSync(file, 'utf8')).spec;

    it(`${names.kind} has its place in the API, the rights, the samples and the composition`, async () => {
      const known = Object.values(resources).find((one) => one.kind === names.kind && one.group === group);
      assert.equal(known?.plural, names.plural);
      assert.deepEqual(missingIn(await textOf('config/rbac/**/*.yaml'), [names.plural, group]), []);
      assert.deepEqual(missingIn(await textOf(`config/samples/${sample}.yaml`), [names.kind]), []);
      assert.deepEqual(missingIn(await textOf('src/operator.ts'), [`add${names.kind}Controller`]), []);
    });

    it(`${names.kind} may not import another kind, nor another one it`, async () => {
      const { overrides } = JSON.parse(await textOf('biome.json'));
      const others = Object.keys(kinds).filter((other) => other !== folder);
      for (const other of others) {
        const rule = overrides.find(
          ({ includes }: { includes: string[] }) => includes.join() === `src/${other}/**`,
        );
        assert.ok(JSON.stringify(rule).includes(`**/${folder}/**`));
      }
    });
  }

  it('is known here', async () => {
    const files = await pathsOf(['crds/*s.yaml']);
    assert.equal(files.length, Object.keys(kinds).length, 'a CRD has no row in this file');
  });
});
