/**
 * Bundles the operator into one file, dist/atwatch.js: it starts several times faster than loading some
 * thousand modules, and an image needs nothing but Node.js beside it. The kubectl plugins are one file each,
 * too. What other packages import is made by hack/package-runtime.ts.
 */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { bundledPackages } from './build/bundled-packages.ts';
import { contentsOf } from './build/contents.ts';
import { noticesOf } from './build/notices.ts';
import { npmComponent, writeSboms } from './build/sbom.ts';
import { compiledSchemaChecks } from './build/schema-checks.ts';
import { lazyBuiltins, smallPackages } from './build/small-packages.ts';

const { engines, license, name, version } = JSON.parse(await readFile('package.json', 'utf8'));
const target = `node${engines.node.replace('>=', '')}`;

/** Bundles one program with all its packages. */
async function bundle(entry: string, outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [compiledSchemaChecks, smallPackages, lazyBuiltins],
    // The text stays in memory. Names stay, too: they are what a stack trace says.
    minifyWhitespace: true,
    minifySyntax: true,
    banner: {
      // Some packages inside are CommonJS and call require for Node's own modules.
      js: `#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);`,
    },
  });
  await chmod(outfile, 0o755);
  return metafile;
}

/** Bundles the program kubectl-NAME, and writes the one that kubectl's completion asks. */
async function bundlePlugin(plugin: string): Promise<Metafile> {
  const completion = `dist/kubectl_complete-${plugin}`;
  await writeFile(completion, `#!/bin/sh\nexec kubectl ${plugin} __complete "$@"\n`);
  await chmod(completion, 0o755);
  return bundle(`src/cli/kubectl-${plugin}.ts`, `dist/kubectl-${plugin}`);
}

const operator = await bundle('src/main.ts', 'dist/atwatch.js');
// kubectl finds its plugins by these names on the PATH.
const pluginNames = ['at', 'configwatcher'];
const plugins = await Promise.all(pluginNames.map(bundlePlugin));
// V8 keeps the whole text in memory: with a single other character in it at two bytes each, 1.4 MB more. esbuild
// escapes such characters everywhere but in regular expressions.
const strange = /.{0,40}\P{ASCII}.{0,40}/u.exec(await readFile('dist/atwatch.js', 'utf8'))?.[0];
if (strange) throw new Error(`dist/atwatch.js is not ASCII; write escapes in the source of ${strange}`);

await writeFile(
  'dist/third-party-licenses.txt',
  noticesOf('atwatch', bundledPackages([operator, ...plugins])),
);
const contents = [operator, ...plugins].map(async (metafile) => {
  const [outfile = ''] = Object.keys(metafile.outputs);
  return [basename(outfile), contentsOf(await readFile(outfile), metafile)] as const;
});
await writeFile(
  'dist/contents.json',
  `${JSON.stringify(Object.fromEntries(await Promise.all(contents)), undefined, 1)}\n`,
);
// These say what is in the image, where there are no plugins.
await writeSboms('dist/atwatch', npmComponent(name, version, license), bundledPackages([operator]));
// Not beside the plugins: kubectl takes every file there whose name begins with kubectl- for a plugin.
await mkdir('dist/sbom', { recursive: true });
for (const [index, metafile] of plugins.entries()) {
  const plugin = `kubectl-${pluginNames[index]}`;
  const product = { name: plugin, version, license, purl: `pkg:generic/${plugin}@${version}` };
  await writeSboms(`dist/sbom/${plugin}`, product, bundledPackages([metafile]));
}
