/**
 * Makes dist/runtime-package, the package `@atwatch/runtime` as it is published: the runtime and its test kit with all
 * that they need of other packages inside, the declarations, the types of Kubernetes' own kinds, the program
 * atwatch-runtime, the documents. Nothing of this operator's own kinds is in it.
 */
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { bundledPackages } from './build/bundled-packages.ts';
import { contentsOfParts } from './build/contents.ts';
import { noticesOf } from './build/notices.ts';
import { npmComponent, writeSboms } from './build/sbom.ts';
import { lazyBuiltins, smallPackages } from './build/small-packages.ts';
import { writeDeclarations } from './package/declarations.ts';
import { externalPackages, packageManifest, typeModules } from './package/manifest.ts';
import { writePages } from './package/pages.ts';

const folder = 'dist/runtime-package';

/** The control plane for tests stays apart: few programs start one, and its scripts stand beside it. */
const controlPlaneApart: Plugin = {
  name: 'control-plane-apart',
  setup({ onResolve }) {
    onResolve({ filter: /\/local-cluster\/control-plane\.ts$/ }, () => ({
      path: './local-cluster/control-plane.js',
      external: true,
    }));
  },
};

async function bundle(
  entryPoints: Readonly<Record<string, string>>,
  plugins: Plugin[] = [],
): Promise<Metafile> {
  const { engines } = JSON.parse(await readFile('package.json', 'utf8'));
  const { metafile } = await build({
    entryPoints: { ...entryPoints },
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: [...externalPackages],
    platform: 'node',
    format: 'esm',
    target: `node${engines.node.replace('>=', '')}`,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [...plugins, smallPackages, lazyBuiltins],
    banner: {
      // Some packages inside are CommonJS and call require for Node's own modules.
      js: `import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);`,
    },
  });
  return metafile;
}

async function copyControlPlane(): Promise<void> {
  const to = `${folder}/local-cluster`;
  // The Go sources by which the built programs are found, and from which they can be built.
  const isNeeded = (path: string) =>
    !/\.[a-z]+$/.test(path) || /(\.go|go\.mod|go\.sum|janitor\.sh)$/.test(path);
  await cp('local-cluster', to, { recursive: true, filter: isNeeded });
}

/** As one file: npm leaves out a .gitignore, and tests in a package look like its own. */
async function writeTemplate(): Promise<void> {
  const files: Record<string, string> = {};
  for (const entry of await readdir('examples/notes', { recursive: true, withFileTypes: true })) {
    const path = relative('examples/notes', join(entry.parentPath, entry.name));
    if (!entry.isFile() || /^(node_modules|dist|package-lock\.json)\b/.test(path)) continue;
    files[path] = await readFile(join('examples/notes', path), 'utf8');
  }
  await writeFile(`${folder}/template.json`, `${JSON.stringify(files, Object.keys(files).sort(), 1)}\n`);
}

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const kinds = await typeModules();
const metafiles = [
  await bundle({ index: 'src/runtime.ts', testing: 'src/testing.ts' }, [controlPlaneApart]),
  await bundle({
    'local-cluster/control-plane': 'local-cluster/control-plane.ts',
    'local-cluster/supervisor': 'local-cluster/supervisor.ts',
  }),
  await bundle({ 'atwatch-runtime': 'src/scaffold/main.ts' }),
  await bundle(
    Object.fromEntries(kinds.map((name) => [`types/${name}`, `src/kubernetes/types/${name}.generated.ts`])),
  ),
];
await chmod(`${folder}/atwatch-runtime.js`, 0o755);
await copyControlPlane();
await writeTemplate();
await writeDeclarations(folder);
await writeFile(`${folder}/package.json`, await packageManifest());
await cp('LICENSE', `${folder}/LICENSE`);
await writeFile(
  `${folder}/third-party-licenses.txt`,
  noticesOf('@atwatch/runtime', bundledPackages(metafiles)),
);
const { license, version } = JSON.parse(await readFile('package.json', 'utf8'));
const product = npmComponent('@atwatch/runtime', version, license);
await writeSboms(`${folder}/atwatch-runtime`, product, bundledPackages(metafiles));
await mkdir('dist/contents', { recursive: true });
const contents = await contentsOfParts(folder, metafiles, (path) => readFile(path));
await writeFile('dist/contents/runtime-package.json', `${JSON.stringify(contents, undefined, 1)}\n`);
await writePages(folder);
console.log(`wrote ${folder}`);
