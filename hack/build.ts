/**
 * Bundles the operator into one file, dist/atwatch.js: it starts several times faster than loading some
 * thousand modules, and an image needs nothing but Node.js beside it. Beside that stands what other
 * packages import as atwatch/runtime: one module without its dependencies, and its declarations.
 */
import { execFile } from 'node:child_process';
import { chmod, readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';

const { engines } = JSON.parse(await readFile('package.json', 'utf8'));
const target = `node${engines.node.replace('>=', '')}`;

/**
 * Of client-node the operator uses the KubeConfig alone. The rest of it, with a module for each kind of
 * Kubernetes, would cost 50 MB of memory and most of the start. So its indexes shrink to what is used;
 * whoever imports more of it is told by the build.
 */
const clientNodeParts: Readonly<Record<string, string>> = {
  'index.js': "export { KubeConfig } from './config.js'; export { loadYaml } from './yaml.js';",
  'gen/index.js': "export { createConfiguration } from './configuration.js'; export * from './servers.js';",
  // A kubeconfig is of no kind that has a serializer.
  'serializer.js': 'export const ObjectSerializer = { deserialize: (kubeconfig) => kubeconfig };',
};

const smallClientNode: Plugin = {
  name: 'small-client-node',
  setup({ onLoad }) {
    onLoad({ filter: /@kubernetes\/client-node\/dist\/(gen\/index|index|serializer)\.js$/ }, ({ path }) => {
      const [, part = ''] = path.split('/client-node/dist/');
      return { contents: clientNodeParts[part] ?? '' };
    });
  },
};

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/atwatch.js',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [smallClientNode],
  banner: {
    // Some packages inside are CommonJS and call require for Node's own modules.
    js: `#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);`,
  },
});
await chmod('dist/atwatch.js', 0o755);

await build({
  entryPoints: ['src/runtime.ts'],
  outfile: 'dist/runtime.js',
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target,
  logLevel: 'warning',
});
await rm('dist/types', { recursive: true, force: true });
await promisify(execFile)('node_modules/.bin/tsc', ['-p', 'hack/build-runtime.tsconfig.json']);
