/** Builds the pages of the harness into harness/dist, and serves them with the plugin of dist/. */
import { createReadStream } from 'node:fs';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import svgr from 'vite-plugin-svgr';

const plugin: Plugin = {
  name: 'plugin',
  configurePreviewServer({ middlewares }) {
    middlewares.use('/plugin.js', (_, response) => {
      createReadStream(`${import.meta.dirname}/../dist/main.js`).pipe(response);
    });
  },
};

export default defineConfig({
  root: import.meta.dirname,
  define: { global: 'globalThis', 'process.env': '{}' },
  plugins: [react(), svgr({ include: ['**/*.svg', '**/*.svg?react'] }), plugin],
  resolve: {
    alias: [{ find: /^monaco-editor.*/, replacement: `${import.meta.dirname}/no-editor.ts` }],
    dedupe: ['react', 'react-dom', '@mui/material', 'react-redux', 'react-router-dom'],
  },
  build: { target: 'es2022', minify: false, reportCompressedSize: false, chunkSizeWarningLimit: 10_000 },
});
