/** Builds the plugin as Headlamp's own tool does, and gives modules of the operator what they import of Node.js. */
import { copyFile } from 'node:fs/promises';
import headlamp from '@kinvolk/headlamp-plugin/config/vite.config.mjs';
import { mergeConfig, type Plugin } from 'vite';

const inBrowser = (name: string) => `${import.meta.dirname}/browser/node-${name}.ts`;

const nodeModules: Plugin = {
  name: 'node-modules',
  // After Headlamp's own polyfills, because the last alias counts.
  config: {
    order: 'post',
    handler: () => ({
      resolve: { alias: { 'node:crypto': inBrowser('crypto'), 'node:util': inBrowser('util') } },
    }),
  },
};

const packageJson: Plugin = {
  name: 'package-json',
  closeBundle: () => copyFile('package.json', 'dist/package.json'),
};

export default mergeConfig(headlamp, { plugins: [nodeModules, packageJson] });
