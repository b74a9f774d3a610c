/**
 * Small packages: what the bundle takes of packages that would bring much more than is used. Nearly all of a
 * package costs memory from the start to the end, used or not: its text, the functions that run when it is
 * loaded, and the parts of Node.js that it asks for.
 *
 * Each entry is a module of a package and what stands in its place. All are ES modules that say what they
 * export, so the build fails for an import of more.
 */
import { builtinModules } from 'node:module';
import type { Plugin } from 'esbuild';

/** For what is named in code that is never reached here. */
const unused = (name: string) =>
  `export class ${name} { constructor() { throw new Error('${name} is not in the bundle'); } }`;

const replacements: Readonly<Record<string, string>> = {
  // The KubeConfig alone. The rest has a module for each kind of Kubernetes: 28 MB of memory, and most of the
  // start.
  '@kubernetes/client-node/dist/index.js':
    "export { KubeConfig } from './config.js'; export { loadYaml } from './yaml.js';",
  '@kubernetes/client-node/dist/gen/index.js': unused('createConfiguration') + unused('ServerConfiguration'),
  // A kubeconfig is of no kind that has a serializer.
  '@kubernetes/client-node/dist/serializer.js':
    'export const ObjectSerializer = { deserialize: (kubeconfig) => kubeconfig };',
  // The transport has its own way through a proxy; client-node is asked for credentials only.
  'socks-proxy-agent/dist/index.js': unused('SocksProxyAgent'),
  'socks/build/index.js': unused('SocksClient'),
  'hpagent/index.mjs': unused('HttpProxyAgent') + unused('HttpsProxyAgent'),

  // One connection and how it is opened: without fetch, WebSocket, caches, mocks and HTTP/2.
  'undici/index.js': [
    "export { default as Client } from './lib/dispatcher/client.js';",
    "export { default as buildConnector } from './lib/core/connect.js';",
    unused('Agent'),
    unused('ProxyAgent'),
  ].join('\n'),
  'undici/lib/dispatcher/client-h2.js': "module.exports = () => { throw new Error('no HTTP/2') };",
  // A second parser of HTTP, for those who ask for it; and bodies that only fetch makes.
  'undici/lib/dispatcher/parser-h1.js': 'module.exports = { getMiloEnabled: () => false };',
  'undici/lib/web/fetch/body.js':
    "module.exports = { extractBody: () => { throw new Error('no body of this kind') } };",
  'undici/lib/web/fetch/formdata.js':
    "module.exports = { FormData: class { constructor() { throw new Error('no form data') } } };",

  // Without what pushes metrics or collects them from other processes.
  '@prometheus-io/client/index.js': [
    "export { default as Registry } from './lib/registry.js';",
    "export { default as Counter } from './lib/counter.js';",
    "export { default as Gauge } from './lib/gauge.js';",
    "export { default as Histogram } from './lib/histogram.js';",
    "export { default as collectDefaultMetrics } from './lib/defaultMetrics.js';",
  ].join('\n'),

  // Logs go to standard output, by this thread.
  'pino/lib/transport.js': "module.exports = () => { throw new Error('transports are not in the bundle') };",
  'pino/lib/multistream.js': 'module.exports = undefined;',
};

export const smallPackages: Plugin = {
  name: 'small-packages',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\// }, ({ path }) => {
      const module = path.split('/node_modules/').at(-1) ?? '';
      const contents = replacements[module];
      return contents === undefined ? undefined : { contents, loader: 'js' };
    });
  },
};

/**
 * Takes the modules of Node.js by require. An import would read each of their exports at once, also those that
 * Node.js makes only when they are asked for: with node:http alone comes all of its fetch and WebSocket.
 */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup({ onResolve, onLoad }) {
    const namespace = 'builtin';
    onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      return kind === 'import-statement' && builtinModules.includes(name)
        ? { path: name, namespace }
        : undefined;
    });
    onLoad({ filter: /^/, namespace }, ({ path }) => ({
      contents: `module.exports = require('node:${path}');`,
    }));
  },
};
