/** PackageTypes: programs that use every entry of the packed runtime, for compilers of different versions. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command, type RuntimePackage } from './runtime-package.ts';

/** The oldest TypeScript that is promised. */
export const oldestTypeScript = '5.4.5';

/** `module` and `moduleResolution` that are promised. */
export const moduleSettings = [
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const;

const guideFile = 'guide.ts';
const entriesFile = 'entries.ts';

/** The TypeScript of a page, in its order: one program. */
function codeOf(page: string): string {
  return Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, code = '']) => code).join('\n');
}

/** Writes the guide's program, and one that imports all entries, into a folder where the package is installed. */
export async function writePrograms(runtime: RuntimePackage, folder: string): Promise<void> {
  const pages = join(folder, 'node_modules/@atwatch/runtime/docs');
  const guide = codeOf(await readFile(join(pages, 'runtime.md'), 'utf8'));
  assert.match(guide, /createManager.+controllerManagedBy.+runManager/s);
  await writeFile(join(folder, guideFile), guide);
  const names = runtime.paths.flatMap((path) => /^types\/(.+)\.js$/.exec(path)?.[1] ?? []);
  assert.ok(names.length > 15, 'the groups of Kubernetes are found');
  const imports = names.map((name, index) => `import * as m${index} from '@atwatch/runtime/types/${name}';`);
  const text = [
    ...imports,
    `import * as runtime from '@atwatch/runtime';`,
    `import * as testing from '@atwatch/runtime/testing';`,
    `import { type Deployment, deployments } from '@atwatch/runtime/types/apps';
export const resource: runtime.Resource<Deployment> = deployments;
// @ts-expect-error: an object needs a name
export const nameless: Deployment = { metadata: {} };
// @ts-expect-error: there is no such export, so the entry was resolved
export const missing = runtime.noSuchExport;`,
    `export const all = [${names.map((_, index) => `m${index}`).join(', ')}, runtime, testing];`,
  ];
  await writeFile(join(folder, entriesFile), `${text.join('\n')}\n`);
}

/**
 * Resolves and type-checks those programs with the declarations of all libraries.
 *
 * @param compiler the file tsc.
 * @throws {Error} with what the compiler says.
 */
export async function checkTypes(
  folder: string,
  compiler: string,
  [module, moduleResolution]: (typeof moduleSettings)[number],
  name: string,
): Promise<void> {
  const settings = { module, moduleResolution, target: 'es2022', lib: ['es2023', 'esnext.disposable'] };
  const checks = { types: ['node'], strict: true, skipLibCheck: false, noEmit: true };
  const config = { compilerOptions: { ...settings, ...checks }, files: [guideFile, entriesFile] };
  const file = `tsconfig.${name}.${moduleResolution}.json`;
  await writeFile(join(folder, file), JSON.stringify(config));
  await command(process.execPath, [compiler, '-p', file, '--pretty', 'false'], { cwd: folder });
}
