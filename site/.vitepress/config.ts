/** The site's settings, see vitepress.dev. SITE_BASE is the path under which it is served, such as /atwatch/. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { groups } from '../groups.ts';
import { anchorOf, linkOnSite, pageOf } from '../paths.ts';

const root = join(import.meta.dirname, '../..');
const isFolder = (path: string) => existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();

function titleOf(path: string): string {
  const [, title = path] = /^# (.+)$/m.exec(readFileSync(join(root, path), 'utf8')) ?? [];
  return title.replaceAll('`', '');
}

export default defineConfig({
  title: 'atwatch',
  description: 'Run a command at a time, and restart Pods when their ConfigMap changes',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: 'dist/pages',
  outDir: 'dist/html',
  cacheDir: 'dist/cache',
  cleanUrls: false,
  markdown: {
    anchor: { slugify: anchorOf },
    config(md) {
      md.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const link = token.type === 'link_open' ? token.attrGet('href') : null;
          if (link !== null) token.attrSet('href', linkOnSite(env.relativePath, link, isFolder));
        }
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: groups.map(({ title, pages }) => ({
      text: title,
      collapsed: false,
      items: pages.map((path) => ({
        text: titleOf(path),
        link: `/${pageOf(path, isFolder)}`.replace(/index\.md$/, ''),
      })),
    })),
  },
});
