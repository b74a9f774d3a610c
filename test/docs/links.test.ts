/** The documents: each link and anchor leads somewhere, and each command is run by a test or says why not. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import {
  blocksOf,
  documentPaths,
  documentsWithCommands as documents,
  readDocument,
} from '../fixtures/document.ts';

/** Without what looks like a link or a heading inside of code. */
function proseOf(page: string): string {
  return page.replaceAll(/^( *)```.*?^\1```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');
}

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

function anchorsOf(page: string): ReadonlySet<string> {
  const headings = page.replaceAll(/^( *)```.*?^\1```$/gms, '').matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, heading = '']) => anchorOf(heading)));
}

/** A link of this project, as a path and an anchor. */
function targetsOf(path: string, page: string): readonly (readonly [path: string, anchor: string])[] {
  return Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file = '', anchor = ''] = link.split('#');
      return [file === '' ? path : normalize(join(dirname(path), file)), anchor] as const;
    });
}

const paths = await documentPaths();

describe('a link', () => {
  for (const path of paths) {
    it(`of ${path} leads to a file, and to a heading of it`, async () => {
      const broken: string[] = [];
      for (const [target, anchor] of targetsOf(path, await readDocument(path))) {
        const isThere = existsSync(target);
        const found = anchor === '' || (isThere && anchorsOf(await readDocument(target)).has(anchor));
        if (!(isThere && found)) broken.push(`${target}#${anchor}`);
      }
      assert.deepEqual(broken, []);
    });
  }
});

describe('the README', () => {
  it('is at most 200 lines long, and starts with a picture', async () => {
    const page = await readDocument('README.md');
    assert.ok(page.trimEnd().split('\n').length <= 200);
    assert.match(page.slice(0, 1200), /!\[[^\]]+\]\([^)]+\.svg\)/);
  });
});

const program = /^(?:\$ )?(kubectl|make|helm|docker|node|npm|npx|git|atwatch|export|curl|cosign)\b/m;

describe('a block with commands', () => {
  for (const path of paths) {
    it(`of ${path} is run by test/e2e/docs.test.ts or by another test, or says why not`, async () => {
      const blocks = blocksOf(await readDocument(path)).filter(
        ({ language, text, notRun, runBy }) =>
          (notRun ?? runBy) === undefined && (language === 'console' || program.test(text)),
      );
      const isRun = documents.includes(path);
      const silent = blocks.filter(({ language }) => !isRun || language !== 'console');
      assert.deepEqual(
        silent.map(({ line }) => `${path}:${line}`),
        [],
      );
    });
  }
});
