/**
 * The previous image, to upgrade from: today's, with a bundle on top that says it is of an older version. Kubernetes takes
 * it for another image even where the bundle is today's, so that an upgrade replaces what runs.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const previousVersion = '0.0.1';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Writes an OCI archive into the directory, and returns its path.
 *
 * @param archive of today's image.
 * @param bundle the path of the operator's bundle.
 * @param directory empty; the caller removes it.
 */
export function writePreviousImage(archive: string, bundle: string, directory: string): string {
  const image = join(directory, 'image');
  const layer = join(directory, 'layer');
  for (const folder of [image, layer]) mkdirSync(folder);
  execFileSync('tar', ['-C', image, '-xf', archive]);
  const blob = (digest: string) => join(image, 'blobs', 'sha256', digest.replace('sha256:', ''));
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
  const write = (content: Buffer | object, mediaType: string): Descriptor => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    writeFileSync(blob(digest), bytes);
    return { mediaType, digest, size: bytes.length };
  };

  writeFileSync(join(layer, 'atwatch.js'), underPreviousVersion(readFileSync(bundle, 'utf8')));
  const tar = execFileSync('tar', ['-C', layer, '-cf', '-', 'atwatch.js'], { maxBuffer: 1 << 28 });
  const added = write(tar, 'application/vnd.oci.image.layer.v1.tar');
  const index = read(join(image, 'index.json'));
  const manifest = read(blob(index.manifests[0].digest));
  const config = read(blob(manifest.config.digest));
  config.rootfs.diff_ids.push(added.digest);
  // It has an entry for each layer, or none at all.
  delete config.history;
  manifest.config = write(config, manifest.config.mediaType);
  manifest.layers.push(added);
  index.manifests[0] = { ...index.manifests[0], ...write(manifest, index.manifests[0].mediaType) };
  writeFileSync(join(image, 'index.json'), JSON.stringify(index));
  const path = join(directory, 'previous.tar');
  execFileSync('tar', ['-C', image, '-cf', path, '.']);
  return path;
}

/** The text of a bundle, minified or not, with another version. */
function underPreviousVersion(bundle: string): string {
  const previous = bundle.replace(/(?<=name: ?"atwatch",\s*version: ?)"[^"]+"/, `"${previousVersion}"`);
  if (previous === bundle) throw new Error('the bundle does not say its version where it is expected');
  return previous;
}
