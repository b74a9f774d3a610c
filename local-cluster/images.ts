/**
 * Images: what the node's registry serves, as a folder in OCI image layout.
 *
 * The images of the books' manifests are made by hand from static programs, so that nothing is downloaded.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ClusterError } from './cluster-error.ts';

/** What an image's index, manifests and blobs are referred to by. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
}

export interface ImageIndex {
  schemaVersion: 2;
  manifests: Descriptor[];
}

const mediaTypes = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

const nameAnnotation = 'org.opencontainers.image.ref.name';

export class ImageStore {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
    mkdirSync(join(directory, 'blobs', 'sha256'), { recursive: true });
  }

  /** The path of a blob, whether it exists or not; undefined for what is no digest. */
  blob(digest: string): string | undefined {
    const match = /^sha256:([0-9a-f]{64})$/.exec(digest);
    return match?.[1] === undefined ? undefined : join(this.directory, 'blobs', 'sha256', match[1]);
  }

  /** What a full name, as in docker.io/library/busybox:latest, stands for. */
  resolve(name: string): Descriptor | undefined {
    return this.#index().manifests.find(({ annotations }) => annotations?.[nameAnnotation] === name);
  }

  /** Makes an image of a root file system. */
  create(name: string, root: string, config: object): void {
    // Sorted, without times and owners: the same content gives the same digest.
    const reproducible = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    const layer = execFileSync('tar', ['-C', root, ...reproducible, '-cf', '-', '.'], { maxBuffer: 2 ** 30 });
    const layerDescriptor = this.#write(layer, mediaTypes.layer);
    const image = {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [layerDescriptor.digest] },
    };
    const configDescriptor = this.#write(json(image), mediaTypes.config);
    const manifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: configDescriptor,
      layers: [layerDescriptor],
    };
    this.#name(name, this.#write(json(manifest), mediaTypes.manifest));
  }

  /**
   * Takes over the one image of an archive in OCI layout, as `buildah push … oci-archive:FILE`,
   * `docker buildx build --output type=oci,dest=FILE` and newer versions of `docker save` write it.
   *
   * @throws {ClusterError} for any other archive
   */
  import(archive: string, name: string): void {
    const directory = mkdtempSync(join(this.directory, 'import-'));
    try {
      unpack(archive, directory);
      const index = join(directory, 'index.json');
      const [image] = existsSync(index)
        ? (JSON.parse(readFileSync(index, 'utf8')) as ImageIndex).manifests
        : [];
      if (image === undefined) {
        throw new ClusterError(`${archive} is no OCI image archive: it has no index.json with an image`);
      }
      const blobs = join(directory, 'blobs', 'sha256');
      for (const blob of readdirSync(blobs)) {
        copyFileSync(join(blobs, blob), join(this.directory, 'blobs', 'sha256', blob));
      }
      this.#name(name, { mediaType: image.mediaType, digest: image.digest, size: image.size });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  #index(): ImageIndex {
    const path = join(this.directory, 'index.json');
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { schemaVersion: 2, manifests: [] };
  }

  #name(name: string, descriptor: Descriptor): void {
    const others = this.#index().manifests.filter(
      ({ annotations }) => annotations?.[nameAnnotation] !== name,
    );
    const named = { ...descriptor, annotations: { [nameAnnotation]: name } };
    const path = join(this.directory, 'index.json');
    // The registry may be reading it: it sees the old index or the new one.
    writeFileSync(`${path}.new`, json({ schemaVersion: 2, manifests: [...others, named] }));
    renameSync(`${path}.new`, path);
  }

  #write(content: Buffer, mediaType: string): Descriptor {
    const hex = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(this.directory, 'blobs', 'sha256', hex), content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  }
}

function unpack(archive: string, directory: string): void {
  try {
    execFileSync('tar', ['-C', directory, '-xf', resolve(archive)], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (cause) {
    const { stderr } = cause as { stderr?: Buffer };
    const reason = stderr?.toString().split('\n')[0] ?? String(cause);
    throw new ClusterError(`cannot unpack ${archive}: ${reason}`, { cause });
  }
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * The full form of an image's name, as a container runtime understands it: busybox stands for
 * docker.io/library/busybox:latest.
 */
export function fullImageName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  const hasRegistry =
    rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost');
  const path = hasRegistry ? name : `docker.io/${rest.length === 0 ? 'library/' : ''}${name}`;
  return /[:@][^/]*$/.test(path) ? path : `${path}:latest`;
}

export const pauseImage = 'docker.io/atwatch/pause:1';

/** @param programs the paths of the static programs */
export function createStandardImages(
  store: ImageStore,
  programs: { busybox: string; pause: string; miniHttpServer: string },
): void {
  const env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  withRoot(store, (root) => {
    install(programs.busybox, join(root, 'bin', 'busybox'));
    const applets = execFileSync(programs.busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const applet of applets.filter((name) => name !== 'busybox')) {
      symlinkSync('busybox', join(root, 'bin', applet));
    }
    for (const directory of ['etc', 'home', 'root', 'tmp', 'var']) {
      mkdirSync(join(root, directory));
    }
    writeFileSync(
      join(root, 'etc', 'passwd'),
      'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/false\n',
    );
    writeFileSync(join(root, 'etc', 'group'), 'root:x:0:\nnobody:x:65534:\n');
    execFileSync('chmod', ['1777', join(root, 'tmp')]);
    store.create('docker.io/library/busybox:latest', root, { Cmd: ['sh'], Env: env });
  });
  withRoot(store, (root) => {
    install(programs.miniHttpServer, join(root, 'mini-http-server'));
    store.create('docker.io/k8spatterns/mini-http-server:latest', root, {
      Entrypoint: ['/mini-http-server'],
      Env: env,
      ExposedPorts: { '8080/tcp': {} },
    });
  });
  withRoot(store, (root) => {
    install(programs.pause, join(root, 'pause'));
    store.create(pauseImage, root, { Entrypoint: ['/pause'], Env: env });
  });
}

function withRoot(store: ImageStore, use: (root: string) => void): void {
  const root = mkdtempSync(join(store.directory, 'root-'));
  try {
    use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function install(program: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(program, target);
  execFileSync('chmod', ['0755', target]);
}
