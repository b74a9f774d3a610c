/** The operator's image: what it says of itself, what is in it, and what is not. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { imageArchive, whyNoArchive } from '../../hack/image/local-archive.ts';

const execute = promisify(execFile);

interface Image {
  readonly created?: string;
  readonly history?: readonly object[];
  readonly config: {
    readonly User?: string;
    readonly Entrypoint?: readonly string[];
    readonly Labels?: Readonly<Record<string, string>>;
    readonly ExposedPorts?: object;
  };
}

interface Sbom {
  readonly spdxVersion: string;
  readonly packages: readonly { readonly externalRefs: readonly { readonly referenceLocator: string }[] }[];
}

interface Bom {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses?: readonly { readonly expression: string }[];
  }[];
}

describe('the image', { skip: whyNoArchive() ?? false }, () => {
  let directory: string;
  /** Its layers, the lowest first. */
  let layers: readonly string[];
  let image: Image;
  let manifest: {
    readonly config: { readonly digest: string };
    readonly layers: readonly { readonly digest: string }[];
  };

  const blob = (digest: string) => join(directory, 'blobs', digest.replace(':', '/'));
  const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

  before(async () => {
    const { path } = await imageArchive();
    directory = await mkdtemp(join(tmpdir(), 'atwatch-image-'));
    await execute('tar', ['-xf', path, '-C', directory]);
    const { manifests } = await json(join(directory, 'index.json'));
    manifest = await json(blob(manifests[0].digest));
    image = await json(blob(manifest.config.digest));
    layers = manifest.layers.map(({ digest }) => blob(digest));
  });
  after(async () => {
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  const files = async () => {
    const lists = layers.map((layer) => execute('tar', ['-tf', layer], { maxBuffer: 16 << 20 }));
    const names = (await Promise.all(lists)).flatMap(({ stdout }) => stdout.split('\n'));
    return new Set(names.map((name) => name.replace(/^(\.?\/)?/, '/')));
  };

  it('says what it is, and of which source', async () => {
    const { version, license } = await json('package.json');
    const { Labels: labels = {} } = image.config;
    const label = (name: string) => labels[`org.opencontainers.image.${name}`] ?? '';
    assert.equal(label('title'), 'atwatch');
    assert.equal(label('version'), version);
    assert.equal(label('licenses'), license);
    assert.match(label('description'), /At.*ConfigWatcher/);
    assert.match(label('revision'), /^([0-9a-f]{40}|unknown)$/);
  });

  it('starts one file, as a user that is not root', () => {
    assert.equal(image.config.User, '65532:65532');
    assert.equal(image.config.Entrypoint?.[0], '/nodejs/bin/node');
    assert.equal(image.config.Entrypoint?.at(-1), '/atwatch.js');
  });

  it('has no shell, no package manager and no node_modules', async () => {
    const all = await files();
    assert.ok(all.has('/atwatch.js') && all.has('/licenses/LICENSE'));
    const unwanted = [...all].filter((name) =>
      /\/(sh|bash|busybox|npm|npx|apt|apk)$|\/node_modules\//.test(name),
    );
    assert.deepEqual(unwanted, []);
  });

  /** The text of a file of the topmost layer. */
  const textOf = async (path: string) => {
    const archive = layers.at(-1) ?? '';
    return (await execute('tar', ['-xOf', archive, path], { maxBuffer: 16 << 20 })).stdout;
  };

  it('lists what it is made of: what is bundled, Node.js and the packages of its base, and nothing else', async () => {
    const sbom: Sbom = JSON.parse(await textOf('usr/share/sbom/atwatch.spdx.json'));
    assert.equal(sbom.spdxVersion, 'SPDX-2.3');
    const purls = sbom.packages.map(({ externalRefs: [reference] }) => reference?.referenceLocator);
    const { components }: Bom = JSON.parse(await textOf('usr/share/sbom/atwatch.cdx.json'));
    assert.deepEqual(
      purls.slice(1),
      components.map(({ purl }) => purl),
    );
    const bundled: Bom = await json('dist/atwatch.cdx.json');
    const rest = purls.filter((purl) => !bundled.components.some((component) => component.purl === purl));
    assert.equal(purls.length - rest.length, bundled.components.length);
    const { version } = await json('package.json');
    assert.deepEqual(rest.slice(0, 2), [
      `pkg:npm/atwatch@${version}`,
      `pkg:generic/nodejs@${process.versions.node}`,
    ]);
    assert.ok(rest.some((purl) => purl?.startsWith('pkg:deb/debian/libc6@')) || !existsSync('/usr/bin/dpkg'));
    assert.ok(rest.slice(2).every((purl) => purl?.startsWith('pkg:deb/debian/')));
  });

  it('has the licences of all that it is made of', async () => {
    assert.equal(await textOf('licenses/LICENSE'), await readFile('LICENSE', 'utf8'));
    assert.match(await textOf('licenses/nodejs.txt'), /^Node\.js is licensed for use as follows/);
    const text = await textOf('licenses/third-party-licenses.txt');
    const { components }: Bom = await json('dist/atwatch.cdx.json');
    for (const { name, version, licenses } of components) {
      assert.ok(text.includes(`\n\n${name} ${version} (${licenses?.[0]?.expression})\n\n`), name);
    }
  });

  it('holds one time, and no path of the machine that built it', async () => {
    const committed = new Date(image.created ?? '');
    assert.equal(image.history, undefined);
    const list = ['--full-time', '--utc', '-tvf', layers.at(-1) ?? ''];
    const times = (await execute('tar', list)).stdout.match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g);
    assert.deepEqual([...new Set(times)], [committed.toISOString().replace('T', ' ').replace('.000Z', '')]);
    assert.equal(JSON.stringify(manifest).includes(tmpdir()), false);
  });
});
