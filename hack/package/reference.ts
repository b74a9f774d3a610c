/**
 * docs/runtime-reference.md: each name that the package exports, with its doc comment and its declaration. Both are read
 * from the declarations that tsc prints.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Declared, declarationOf, exportsIn } from './declared.ts';
import { typeModules } from './manifest.ts';

const kubeConfig = 'hack/package/kube-config.d.ts';

/** The headings of an entry: each has what these folders and files of src/ declare. */
type Headings = Readonly<Record<string, RegExp>>;

const entries: Readonly<Record<string, { readonly file: string; readonly headings: Headings }>> = {
  '@atwatch/runtime': {
    file: 'runtime',
    headings: {
      Manager: /^runtime\/manager\//,
      'Controllers and reconcilers': /^runtime\/controller\//,
      'Informers and listers': /^runtime\/cache\//,
      Client: /^runtime\/client\/(?!load-kubeconfig|kubeconfig-entries|connect)/,
      'KubeConfig and connection': /^runtime\/client\/|^hack\/package\/kube-config/,
      'Objects, conditions and times': /^kubernetes\//,
      'Queue and pace': /^runtime\/(queue|pace)/,
      'Leader election and health': /^runtime\/(leader|health)\//,
      'Events, logs and traces': /^runtime\/(events|logger|error-chain|diagnostics|open-telemetry)/,
      'Clocks and chance': /^runtime\/(clock|server-clock|randomness|limits)/,
    },
  },
  '@atwatch/runtime/testing': {
    file: 'testing',
    headings: {
      'Simulated cluster': /^testing\/(test-cluster|simulated-cluster|log-lines|cluster-ports|api-server)/,
      'Network and faults': /^testing\/network\//,
      'Processes and replicas': /^testing\/simulated-(process|replica)/,
      'Simulated time and chance': /^testing\/(simulated-clock|simulation|random|work-list)/,
      'Control plane': /^testing\/control-plane/,
    },
  },
};

/** A public name. */
export interface Named extends Omit<Declared, 'uses'> {
  readonly name: string;
  readonly entry: string;
  /** The file that declares it, from src/. */
  readonly source: string;
  /** `source name` of each type of this project that its declaration names. */
  readonly uses: readonly string[];
}

/** The whole text of the page. */
export async function referencePage(): Promise<string> {
  return printPage(await publicNames(), await typeRows());
}

/** Sorted by name. */
export async function publicNames(): Promise<Named[]> {
  const folder = await mkdtemp(join(tmpdir(), 'atwatch-reference-'));
  try {
    return await namesIn(await declarations(folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Compiles the entries alone, and does not check them: `make typecheck` does. */
async function declarations(folder: string): Promise<string> {
  const config = {
    extends: resolve('hack/package/declarations.tsconfig.json'),
    compilerOptions: { noCheck: true, outDir: folder, typeRoots: [resolve('node_modules/@types')] },
    files: Object.values(entries).map(({ file }) => resolve(`src/${file}.ts`)),
    include: [],
  };
  const path = join(folder, 'tsconfig.json');
  await writeFile(path, JSON.stringify(config));
  await promisify(execFile)('node_modules/.bin/tsc', ['-p', path]);
  return join(folder, 'src');
}

async function namesIn(folder: string): Promise<Named[]> {
  const found: Named[] = [];
  for (const [entry, { file }] of Object.entries(entries)) {
    const text = await readFile(join(folder, `${file}.d.ts`), 'utf8');
    for (const exported of exportsIn(text)) {
      const source = sourceOf(`${file}.ts`, exported.module);
      const path = source === kubeConfig ? source : join(folder, source.replace(/\.ts$/, '.d.ts'));
      const declared = declarationOf(await readFile(path, 'utf8'), exported);
      if (declared === undefined) throw new Error(`${source} does not declare ${exported.name}`);
      const uses = Array.from(declared.uses, ([name, module]) => [
        module === undefined ? source : sourceOf(source, module),
        name,
      ]);
      const own = uses.filter(([from = '']) => from.endsWith('.ts')).map((use) => use.join(' '));
      found.push({ ...declared, name: exported.name, entry, source, uses: own });
    }
  }
  return found.sort((one, other) => one.name.localeCompare(other.name, 'en'));
}

/** From src/; a package stays as it is, but for the one of which the runtime's package has declarations of its own. */
function sourceOf(importer: string, module: string): string {
  if (module === '@kubernetes/client-node') return kubeConfig;
  return module.startsWith('.') ? join(dirname(importer), module.replace(/\.js$/, '.ts')) : module;
}

function printPage(names: readonly Named[], rows: readonly string[]): string {
  const anchors = new Map(names.map(({ name, form }) => [name, `#${form}-${name.toLowerCase()}`]));
  const sections = Object.entries(entries).flatMap(([entry, { headings }]) => [
    `## \`${entry}\``,
    ...Object.entries(headings).flatMap(([heading, paths]) => {
      const own = names.filter((one) => one.entry === entry && headingOf(one, headings) === heading);
      if (own.length === 0) throw new Error(`nothing stands under ${heading}: ${paths}`);
      return [`### ${heading}`, indexOf(own, anchors), ...own.flatMap((one) => print(one, anchors))];
    }),
  ]);
  return `${[
    '<!-- Generated from the doc comments of src/ by hack/generate.ts (make generate). Do not edit. -->',
    '# Reference of the runtime',
    'Each name that the package `@atwatch/runtime` exports, with its declaration. [The guide](runtime.md) says how they work together.',
    ...sections,
    '## `@atwatch/runtime/types/<group>`',
    'The types of Kubernetes 1.36. The description of each type and field is in its doc comment.',
    [
      '| module | Resources, each with the type of its objects | further types |',
      '| --- | --- | --- |',
      ...rows,
    ].join('\n'),
  ].join('\n\n')}\n`;
}

/** @throws {Error} for a file that no heading has. */
function headingOf({ source, name }: Named, headings: Headings): string {
  const found = Object.entries(headings).find(([, paths]) => paths.test(source));
  if (found === undefined)
    throw new Error(`${name} of ${source} has no heading in hack/package/reference.ts`);
  return found[0];
}

function indexOf(names: readonly Named[], anchors: ReadonlyMap<string, string>): string {
  return names.map(({ name }) => `[\`${name}\`](${anchors.get(name)})`).join(' · ');
}

/** @throws {Error} for a name without a doc comment. */
function print({ name, form, doc, code }: Named, anchors: ReadonlyMap<string, string>): string[] {
  if (doc === '') throw new Error(`${name} has no doc comment`);
  return [`#### \`${form} ${name}\``, linked(doc, anchors), `\`\`\`ts\n${code}\n\`\`\``];
}

/** Links to names of the page lead there. What looks like HTML outside of code is text. */
function linked(doc: string, anchors: ReadonlyMap<string, string>): string {
  return doc
    .replace(/`[^`]*`|[<>]/g, (found) => (found.startsWith('`') ? found : found === '<' ? '&lt;' : '&gt;'))
    .replace(/\{@link\s+([^}]+)\}/g, (_, name: string) => {
      const anchor = anchors.get(name.replace(/\..*/, ''));
      return anchor === undefined ? `\`${name}\`` : `[\`${name}\`](${anchor})`;
    });
}

async function typeRows(): Promise<string[]> {
  const rows: string[] = [];
  for (const module of await typeModules()) {
    const text = await readFile(`src/kubernetes/types/${module}.generated.ts`, 'utf8');
    const kinds = Array.from(text.matchAll(/^export const (\w+): Resource<(\w+)>/gm), ([, one, kind]) => ({
      one,
      kind,
    }));
    const types = Array.from(text.matchAll(/^export (?:interface|type) (\w+)/gm), ([, name]) => name);
    const others = types.filter((name) => !kinds.some(({ kind }) => kind === name));
    const resources = kinds.map(({ one, kind }) => `\`${one}\` of \`${kind}\``).join(', ');
    rows.push(`| \`types/${module}\` | ${resources} | ${others.map((name) => `\`${name}\``).join(', ')} |`);
  }
  return rows;
}
