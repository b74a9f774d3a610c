/** The site as a reader meets it: each link and anchor leads somewhere, each picture is seen, and the search finds a page. */
import assert from 'node:assert/strict';
import { glob, mkdir } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { type ServedSite, serveSite } from './served-site.ts';

const html = `${import.meta.dirname}/../dist/html`;
const paths = (await Array.fromAsync(glob('**/*.html', { cwd: html })))
  .filter((path) => path !== '404.html')
  .sort();

interface SeenPage {
  readonly links: readonly string[];
  readonly anchors: readonly string[];
  /** Addresses of those that the browser could not draw. */
  readonly brokenPictures: readonly string[];
  readonly pictures: number;
  readonly title: string;
}

/** Runs in the browser. Pictures that are out of sight are loaded, too. */
async function look(): Promise<SeenPage> {
  const pictures = Array.from(document.images);
  for (const picture of pictures) picture.loading = 'eager';
  const drawn = await Promise.all(
    pictures.map((picture) =>
      picture.decode().then(
        () => picture.naturalWidth > 0,
        () => false,
      ),
    ),
  );
  return {
    links: Array.from(document.querySelectorAll<HTMLAnchorElement>('a[href]'), ({ href }) => href),
    anchors: Array.from(document.querySelectorAll('[id]'), ({ id }) => id),
    brokenPictures: pictures.filter((_, index) => !drawn[index]).map(({ src }) => src),
    pictures: pictures.length,
    title: document.querySelector('h1')?.textContent ?? '',
  };
}

describe('the site', () => {
  let site: ServedSite;
  const seen = new Map<string, SeenPage>();
  before(async () => {
    site = await serveSite();
    for (const path of paths) {
      await site.page.goto(`${site.url}/${path}`);
      seen.set(path, await site.page.evaluate(look));
    }
  });
  after(() => site?.stop());

  it('has a page for each document, with a heading', () => {
    assert.ok(seen.size > 40, `${seen.size} pages`);
    assert.deepEqual(
      paths.filter((path) => !seen.get(path)?.title),
      [],
    );
  });

  it('has no link that leads nowhere', () => {
    const broken: string[] = [];
    for (const [path, { links }] of seen) {
      for (const link of links) {
        const { origin, pathname, hash } = new URL(link);
        if (origin !== site.url) continue;
        const target = seen.get(pathname.slice(1).replace(/(^|\/)$/, '$1index.html'));
        const anchor = decodeURIComponent(hash.slice(1));
        if (target === undefined || (anchor !== '' && !target.anchors.includes(anchor))) {
          broken.push(`${path}: ${pathname}${hash}`);
        }
      }
    }
    assert.deepEqual(broken, []);
  });

  it('draws each picture', () => {
    const broken = Array.from(seen, ([path, { brokenPictures }]) =>
      brokenPictures.map((src) => `${path}: ${src}`),
    );
    assert.deepEqual(broken.flat(), []);
    const pictures = (path: string) => seen.get(path)?.pictures ?? 0;
    assert.ok(pictures('index.html') > 0, 'the first page has no picture');
    assert.ok(pictures('docs/benchmarks.html') > 0, 'the page of the benchmarks has no plot');
  });

  it('asks no other site for anything, and the browser does not complain', () => {
    assert.deepEqual(site.complaints, []);
  });

  it('finds a page by its words', async () => {
    const { page } = site;
    await page.goto(`${site.url}/`);
    await page.locator('.VPNavBarSearch button').click();
    await page.locator('input[type=search]').fill('cancel');
    await page.locator('.results a[href*="/docs/kubectl.html"]').first().click();
    await page.waitForURL(/\/docs\/kubectl\.html/);
    assert.match(await page.locator('main').innerText(), /cancel/i);
  });

  it('can be read on a telephone: no page is wider than the screen', async () => {
    const { page } = site;
    await page.setViewportSize({ width: 390, height: 844 });
    const wide: string[] = [];
    for (const path of paths.filter((name) => !name.includes('/')).concat('docs/quick-start.html')) {
      await page.goto(`${site.url}/${path}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 390) wide.push(`${path}: ${width}`);
    }
    assert.deepEqual(wide, []);
  });

  it('keeps pictures of itself where PICTURES says', {
    skip: process.env.PICTURES ? false : 'PICTURES names no directory',
  }, async () => {
    const { page } = site;
    const directory = String(process.env.PICTURES);
    await mkdir(directory, { recursive: true });
    await page.setViewportSize({ width: 1440, height: 1000 });
    for (const [name, path] of [
      ['first-page', ''],
      ['quick-start', 'docs/quick-start.html'],
      ['benchmarks', 'docs/benchmarks.html'],
      ['file', 'config/prometheus/prometheus_rule.yaml.html'],
    ] as const) {
      await page.goto(`${site.url}/${path}`);
      await page.screenshot({ path: `${directory}/${name}.png` });
    }
  });
});
