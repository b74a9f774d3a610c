/** The operator's image: what it says of itself, what is in it, and what is not. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { imageArchive, whyNoArchive } from '../../hack/image/local-archive.ts';

const execute = promisify(execFile);

interface Image {
  readonly config: {
    readonly User?: string;
    readonly Entrypoint?: readonly string[];
    readonly Labels?: Readonly<Record<string, string>>;
    readonly ExposedPorts?: object;
  };
}

interface Sbom {
  readonly spdxVersion: string;
  readonly packages: readonly { readonly name: string; readonly versionInfo: string }[];
}

describe('the image', { skip: whyNoArchive() ?? false }, () => {
  let directory: string;
  /** Its layers, the lowest first. */
  let layers: readonly string[];
  let image: Image;

  const blob = (digest: string) => join(directory, 'blobs', digest.replace(':', '/'));
  const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

  before(async () => {
    const { path } = await imageArchive();
    directory = await mkdtemp(join(tmpdir(), 'atwatch-image-'));
    await execute('tar', ['-xf', path, '-C', directory]);
    const { manifests } = await json(join(directory, 'index.json'));
    const manifest = await json(blob(manifests[0].digest));
    image = await json(blob(manifest.config.digest));
    layers = manifest.layers.map(({ digest }: { digest: string }) => blob(digest));
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

  it('lists what it is made of, each package with its version, and none of development', async () => {
    const { dependencies, devDependencies } = await json('package.json');
    const { stdout } = await execute(
      'tar',
      ['-xOf', layers.at(-1) ?? '', 'usr/share/sbom/atwatch.spdx.json'],
      {
        maxBuffer: 16 << 20,
      },
    );
    const sbom: Sbom = JSON.parse(stdout);
    assert.match(sbom.spdxVersion, /^SPDX-2\./);
    const versions = new Map(sbom.packages.map(({ name, versionInfo }) => [name, versionInfo]));
    for (const [name, version] of Object.entries(dependencies)) {
      assert.equal(versions.get(name), version, name);
    }
    const { packages } = await json('package-lock.json');
    const undeveloped = Object.keys(devDependencies).filter((name) => packages[`node_modules/${name}`]?.dev);
    assert.deepEqual(
      undeveloped.filter((name) => versions.has(name)),
      [],
    );
  });
});
