/** Pages of the package: docs/runtime.md and a reference of its exports. No link leads out of the package. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { printReference } from './reference.ts';

/** A link in a page whose target may be a file of this repository. */
const link = /\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g;

export async function writePages(folder: string): Promise<void> {
  await mkdir(`${folder}/docs`, { recursive: true });
  const guide = await readFile('docs/runtime.md', 'utf8');
  await writeFile(`${folder}/docs/runtime.md`, withoutForeignLinks(guide));
  await writeFile(`${folder}/docs/reference.md`, await printReference(folder));
  await writeFile(`${folder}/README.md`, await readFile('hack/package/readme.md', 'utf8'));
}

/** Keeps the text of a link that leads to what the package has not. */
export function withoutForeignLinks(page: string): string {
  return page.replace(link, (whole: string, text: string, target: string) =>
    target === 'reference.md' || target === 'runtime.md' ? whole : text,
  );
}
