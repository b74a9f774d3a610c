/**
 * Writes everything that follows from something else: of the CRDs the types and schema constants in src/api,
 * docs/api.md, docs/versions.md and the CRD of ConfigWatcher's second API group, the chart's copies of these and of config/, and OLM's bundle;
 * of what the benchmarks measured the tables of docs/benchmarks.md, their history and the plots; of the doc comments of the
 * runtime docs/runtime-reference.md.
 * With --check it writes nothing and fails on a difference.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Crd, readCrd } from '../src/scaffold/crd.ts';
import { printTypes } from '../src/scaffold/types.ts';
import { withMeasured } from './benchmarks/choosing.ts';
import { benchmarkPlots } from './benchmarks/draw.ts';
import { historyPage } from './benchmarks/history.ts';
import { readResults } from './benchmarks/record.ts';
import { withNewestTables } from './benchmarks/results.ts';
import { printApiDocs } from './generate/api-docs.ts';
import { bundleFiles } from './generate/bundle.ts';
import { chartFiles } from './generate/chart.ts';
import { printSecondGroup, secondGroup } from './generate/second-group.ts';
import { referencePage } from './package/reference.ts';
import { versionsPage } from './versions/results.ts';

/** Path and text of every generated file, paths relative to the project. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const at = await readCrd('crds/ats.yaml');
  const configWatcher = { ...(await readCrd('crds/configwatchers.yaml')), otherGroups: [secondGroup] };
  const types = (crd: Crd): [string, string] => [
    `src/api/${crd.kind.toLowerCase()}.generated.ts`,
    printTypes([crd], {
      header: `Generated from ${crd.path} by hack/generate.ts (make generate). Do not edit.`,
      ...{ objects: '../kubernetes/objects.ts', resource: false, schema: true },
    }),
  ];
  const measured = readResults();
  const files = new Map([
    types(at),
    types(configWatcher),
    ['crds/com/configwatchers.yaml', printSecondGroup(configWatcher)],
    ['docs/api.md', printApiDocs([at, configWatcher])],
    ['docs/runtime-reference.md', await referencePage()],
    ['docs/versions.md', versionsPage(JSON.parse(await readFile('docs/versions/results.json', 'utf8')))],
    ['docs/benchmarks.md', withNewestTables(await readFile('docs/benchmarks.md', 'utf8'), measured)],
    ['docs/choosing.md', withMeasured(await readFile('docs/choosing.md', 'utf8'), measured)],
    ['docs/benchmarks/history.md', historyPage(measured)],
    ...benchmarkPlots(measured),
  ]);
  return new Map([...files, ...(await chartFiles(files)), ...(await bundleFiles([at, configWatcher]))]);
}

async function differs(path: string, text: string): Promise<boolean> {
  const current = await readFile(path, 'utf8').catch(() => undefined);
  return current !== text;
}

async function main(): Promise<void> {
  const check = process.argv.includes('--check');
  for (const [path, text] of await generatedFiles()) {
    if (!(await differs(path, text))) {
      continue;
    }
    if (check) {
      console.error(`${path} is not what follows from its source: run make generate`);
      process.exitCode = 1;
    } else {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      console.log(`wrote ${path}`);
    }
  }
}

if (import.meta.main) {
  await main();
}
