/** Pages of the package: its README, docs/runtime.md and docs/runtime-reference.md. No link leads out of the package. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';

/** A link in a page whose target may be a file of this repository. */
const link = /\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g;
const pages = ['runtime.md', 'runtime-reference.md'];

export async function writePages(folder: string): Promise<void> {
  await mkdir(`${folder}/docs`, { recursive: true });
  for (const page of pages) {
    const text = await readFile(`docs/${page}`, 'utf8');
    await writeFile(`${folder}/docs/${page}`, withoutForeignLinks(text));
  }
  await cp('hack/package/readme.md', `${folder}/README.md`);
}

/** Keeps the text of a link that leads to what the package has not. */
function withoutForeignLinks(page: string): string {
  return page.replace(link, (whole: string, text: string, target: string) =>
    pages.includes(target) ? whole : text,
  );
}
