/** The package.json of `@atwatch/runtime`. */
import { readdir, readFile } from 'node:fs/promises';

/** Not carried inside: what users import themselves, and what only some of them need. */
export const externalPackages = ['@prometheus-io/client', '@marcbachmann/cel-js'];

/** The modules of `./types/`. */
export async function typeModules(): Promise<string[]> {
  const files = await readdir('src/kubernetes/types');
  return files.map((file) => file.replace('.generated.ts', '')).sort();
}

export async function packageManifest(): Promise<string> {
  const root = JSON.parse(await readFile('package.json', 'utf8'));
  const undici = JSON.parse(await readFile('node_modules/undici/package.json', 'utf8'));
  const celJs = root.devDependencies['@marcbachmann/cel-js'];
  const manifest = {
    name: '@atwatch/runtime',
    version: root.version,
    description:
      'A controller-runtime for TypeScript: informers, workqueues, leader election, and a test kit',
    keywords: ['kubernetes', 'operator', 'controller', 'controller-runtime', 'informer'],
    author: root.author,
    license: root.license,
    type: 'module',
    engines: root.engines,
    sideEffects: false,
    bin: { 'atwatch-runtime': 'atwatch-runtime.js' },
    exports: {
      '.': { types: './declarations/src/runtime.d.ts', default: './index.js' },
      './testing': { types: './declarations/src/testing.d.ts', default: './testing.js' },
      './types/*': {
        types: './declarations/src/kubernetes/types/*.generated.d.ts',
        default: './types/*.js',
      },
      './package.json': './package.json',
    },
    dependencies: {
      '@prometheus-io/client': root.dependencies['@prometheus-io/client'],
      // Declarations alone.
      'undici-types': undici.version,
    },
    peerDependencies: { '@marcbachmann/cel-js': `^${celJs}`, '@types/node': '>=22' },
    peerDependenciesMeta: {
      '@marcbachmann/cel-js': { optional: true },
      '@types/node': { optional: true },
    },
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
