/** Forgeries: a release changed and signed again by the holder of the key, who makes a mistake or means no good. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256, sha256Of } from '../../hack/release/checksums.ts';
import { type ImageConfig, withImage } from '../../hack/release/image-layout.ts';
import { signRelease } from '../../hack/release/make-release.ts';
import { partNames } from '../../hack/release/parts.ts';
import { provenanceFile } from '../../hack/release/provenance.ts';

interface Subject {
  readonly name: string;
  digest: { sha256: string };
}

/** A copy of a release that the caller may change. */
export async function copyOf(release: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-forged-'));
  await cp(release, directory, { recursive: true });
  return directory;
}

/** Replaces files of the image, by their paths, by a layer on top, and what it starts. */
export async function replaceInImage(
  directory: string,
  version: string,
  files: Readonly<Record<string, string>>,
  start: ImageConfig = {},
): Promise<void> {
  const archive = join(directory, partNames(version).image);
  const scratch = await mkdtemp(join(tmpdir(), 'atwatch-forge-'));
  const [layout, layer] = [join(scratch, 'layout'), join(scratch, 'layer')];
  try {
    await mkdir(layout);
    execFileSync('tar', ['-C', layout, '-xf', archive]);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(layer, path, '..'), { recursive: true });
      await writeFile(join(layer, path), text);
    }
    const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'));
    const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
    const add = async (content: Buffer) => {
      const digest = `sha256:${sha256(content)}`;
      await writeFile(blob(digest), content);
      return { digest, size: content.length };
    };
    const index = await json(join(layout, 'index.json'));
    const manifest = await json(blob(index.manifests[0].digest));
    const config = await json(blob(manifest.config.digest));
    const added = await add(execFileSync('tar', ['-C', layer, '-cf', '-', '.'], { maxBuffer: 64 << 20 }));
    config.rootfs.diff_ids.push(added.digest);
    Object.assign(config.config, start);
    Object.assign(manifest.config, await add(Buffer.from(JSON.stringify(config))));
    manifest.layers.push({ ...manifest.layers.at(-1), ...added });
    Object.assign(index.manifests[0], await add(Buffer.from(JSON.stringify(manifest))));
    await writeFile(join(layout, 'index.json'), JSON.stringify(index));
    execFileSync('tar', ['-C', layout, '-cf', archive, '.']);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Changes one file of an archive. */
export async function changeInArchive(
  archive: string,
  path: string,
  change: (text: string) => string,
): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'atwatch-forge-'));
  try {
    execFileSync('tar', ['-C', scratch, '-xzf', archive]);
    const text = await readFile(join(scratch, path), 'utf8');
    const changed = change(text);
    assert.notEqual(changed, text);
    await writeFile(join(scratch, path), changed);
    execFileSync('tar', ['-C', scratch, '-czf', archive, ...(await readdir(scratch))]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Has provenance, checksums and signatures speak of the files as they are now. */
export async function signAgain(directory: string, version: string, key: string): Promise<void> {
  const path = join(directory, provenanceFile);
  const statement = JSON.parse(await readFile(path, 'utf8'));
  const present = new Set(await readdir(directory));
  const digest = await withImage(join(directory, partNames(version).image), async (image) => image.digest);
  for (const subject of statement.subject as Subject[]) {
    subject.digest.sha256 = present.has(subject.name)
      ? await sha256Of(join(directory, subject.name))
      : digest.replace('sha256:', '');
  }
  await writeFile(path, `${JSON.stringify(statement, undefined, 2)}\n`);
  await signRelease(directory, key);
}
