/**
 * Writes the pages that VitePress builds the site from into dist/pages: the documents as they are, their pictures, and a page
 * for each file and each folder without a README.md that a document links to.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { groups } from './groups.ts';
import { pageOf } from './paths.ts';

/** Files and folders that documents link to, and that are no documents. */
const shown = [
  'Dockerfile',
  'LICENSE',
  'config/prometheus',
  'config/samples',
  'docs/benchmarks/results.json',
  'docs/decisions',
  'examples',
];

const root = join(import.meta.dirname, '..');
const pages = join(import.meta.dirname, 'dist/pages');
const isFolder = (path: string) => statSync(join(root, path)).isDirectory();

/** VitePress makes no page of a file whose name begins with a dot. */
const filesOf = (path: string) =>
  execFileSync('git', ['ls-files', '--', path], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((file) => !posix.basename(file).startsWith('.'));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(pages, path)), { recursive: true });
  writeFileSync(join(pages, path), text);
}

/** Sources are kept out of the search: it is for what is told. */
function pageOfFile(path: string): string {
  const text = readFileSync(join(root, path), 'utf8');
  const fence = '`'.repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length + 1)));
  const language = path.endsWith('Dockerfile') ? 'dockerfile' : extname(path).slice(1);
  return `---\nsearch: false\n---\n\n# ${path}\n\n${fence}${language}\n${text}\n${fence}\n`;
}

function pageOfFolder(folder: string, files: readonly string[]): string {
  const links = files.map((file) => `- [${posix.relative(folder, file)}](${posix.relative(folder, file)})`);
  return `---\nsearch: false\n---\n\n# ${folder}\n\n${links.join('\n')}\n`;
}

rmSync(pages, { recursive: true, force: true });
for (const page of groups.flatMap((group) => group.pages)) {
  write(pageOf(page, isFolder), readFileSync(join(root, page), 'utf8'));
}
for (const path of shown) {
  const files = filesOf(path);
  if (isFolder(path)) write(pageOf(path, isFolder), pageOfFolder(path, files));
  for (const file of files.filter((name) => !name.endsWith('.md'))) {
    write(pageOf(file, isFolder), pageOfFile(file));
  }
}
for (const picture of filesOf('docs').filter((name) => /\.(?:svg|png)$/.test(name))) {
  cpSync(join(root, picture), join(pages, picture));
}
