/** Where a file of the repository is on the site. Pure. */
import { posix } from 'node:path';

/**
 * The page of a file or folder: of a document the document itself, of a folder its README.md or a list of its files, and of
 * any other file a page that shows it.
 *
 * @param path from the root of the repository, such as `README.md`, `docs/decisions` or `Dockerfile`.
 * @param isFolder tells whether such a path is a folder.
 * @returns a path of a Markdown file, from the root of the site's pages.
 */
export function pageOf(path: string, isFolder: (path: string) => boolean): string {
  if (isFolder(path)) return posix.join(path, 'index.md');
  if (posix.basename(path) === 'README.md') return posix.join(posix.dirname(path), 'index.md');
  return path.endsWith('.md') ? path : `${path}.md`;
}

/**
 * A link of a page, as the site has it. Links to other sites and within the page stay as they are.
 *
 * @param page that has the link, from the root of the site's pages.
 * @param link relative, as in the repository.
 */
export function linkOnSite(page: string, link: string, isFolder: (path: string) => boolean): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link;
  const [path = '', anchor] = link.split('#');
  const target = posix.join(posix.dirname(page), path).replace(/\/$/, '');
  return `/${pageOf(target, isFolder)}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** The anchor of a heading, as GitHub has it, so that one link leads to the same place in both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
