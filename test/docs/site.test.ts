/** What the site shows of the repository, and where. Chromium looks at the built site in site/test. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { groups } from '../../site/groups.ts';
import { anchorOf, linkOnSite, pageOf } from '../../site/paths.ts';
import { documentPaths } from '../fixtures/document.ts';

const isFolder = (path: string) => statSync(path).isDirectory();

describe('the contents of the site', () => {
  it('name each document once, and nothing else', async () => {
    const named = groups.flatMap(({ pages }) => pages);
    assert.deepEqual(named.toSorted(), (await documentPaths()).toSorted());
  });
});

describe('the page of', () => {
  const rows = [
    ['a document', 'docs/kubectl.md', 'docs/kubectl.md'],
    ['the README', 'README.md', 'index.md'],
    ['the README of a folder', 'charts/atwatch/README.md', 'charts/atwatch/index.md'],
    ['a folder', 'docs/decisions', 'docs/decisions/index.md'],
    ['another file', 'Dockerfile', 'Dockerfile.md'],
  ] as const;
  for (const [name, path, page] of rows) {
    it(name, () => assert.equal(pageOf(path, isFolder), page));
  }
});

describe('a link of the repository is on the site', () => {
  const rows = [
    ['to another page', 'docs/cookbook.md', 'pods.md#volumes', '/docs/pods.md#volumes'],
    ['to a page above', 'docs/migrate/at.md', '../../README.md', '/index.md'],
    ['to a folder', 'index.md', 'docs/decisions/', '/docs/decisions/index.md'],
    ['to a file', 'docs/verify.md', '../Dockerfile', '/Dockerfile.md'],
    ['within its page', 'docs/api.md', '#at', '#at'],
    ['to another site', 'docs/api.md', 'https://kubernetes.io/docs/', 'https://kubernetes.io/docs/'],
    ['to an address', 'docs/api.md', 'mailto:a@example.com', 'mailto:a@example.com'],
  ] as const;
  for (const [name, page, link, expected] of rows) {
    it(name, () => assert.equal(linkOnSite(page, link, isFolder), expected));
  }
});

describe('the anchor of a heading', () => {
  it("is GitHub's", () => {
    assert.equal(anchorOf('From at(1)'), 'from-at1');
    assert.equal(anchorOf('Why `UpToDate`, and when?'), 'why-uptodate-and-when');
    assert.equal(anchorOf('One  annotation_per workload'), 'one--annotation_per-workload');
  });
});
