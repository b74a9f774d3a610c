/**
 * Pinned bases: the images that the Dockerfile stands on, by digest. They are written there and nowhere else;
 * `make renew-base-images` asks their registries what their tags stand for today.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceDirectory } from './builder.ts';
import { ImageError } from './image-error.ts';
import type { BaseImages } from './local-archive.ts';

const dockerfile = join(sourceDirectory, 'Dockerfile');
const line = /^ARG (BUILD|RUN)_IMAGE=(?<name>[^@\n]+?)(?:@(?<digest>sha256:[0-9a-f]{64}))?$/gm;

/** @throws {ImageError} while one of them has no digest: its tag will stand for another image tomorrow. */
export function pinnedBases(text = readFileSync(dockerfile, 'utf8')): BaseImages {
  const found = Array.from(text.matchAll(line), ({ 1: which, groups }) => ({ which, ...groups }));
  const reference = (wanted: string) => {
    const { name, digest } = found.find(({ which }) => which === wanted) as Record<
      string,
      string | undefined
    >;
    if (digest === undefined) {
      throw new ImageError(
        `the Dockerfile names ${name} without a digest: run make renew-base-images and commit the Dockerfile, ` +
          'or say BASES=local to stand on images made of this machine’s programs',
      );
    }
    return `${name}@${digest}`;
  };
  return { build: reference('BUILD'), run: reference('RUN') };
}

/**
 * The Dockerfile's text with the digests of today.
 *
 * @param digestOf asks a registry; rejects when it does not answer, and then nothing is written.
 */
export async function withDigests(
  text: string,
  digestOf: (name: string) => Promise<string>,
): Promise<string> {
  const names = Array.from(text.matchAll(line), ({ groups }) => groups?.name ?? '');
  const digests = new Map(
    await Promise.all(names.map(async (name) => [name, await digestOf(name)] as const)),
  );
  return text.replace(line, (_, which: string, name: string) => {
    return `ARG ${which}_IMAGE=${name}@${digests.get(name)}`;
  });
}

/** Writes the digests of today into the Dockerfile. */
export async function renewBases(): Promise<void> {
  writeFileSync(dockerfile, await withDigests(readFileSync(dockerfile, 'utf8'), registryDigest));
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');

/**
 * What a tag stands for, by the registry's own account: a manifest of all platforms.
 *
 * @param scheme of the registry's address.
 * @throws {ImageError} when the registry does not answer, or has no such tag
 */
export async function registryDigest(name: string, scheme = 'https'): Promise<string> {
  const [, host = '', repository = '', tag] = /^([^/]+)\/(.+):([\w.-]+)$/.exec(name) ?? [];
  if (tag === undefined) throw new ImageError(`${name} is no name with registry and tag`);
  // The name of Docker's registry is not its address.
  const registry = host === 'docker.io' ? 'registry-1.docker.io' : host;
  const url = `${scheme}://${registry}/v2/${repository}/manifests/${tag}`;
  const first = await ask(name, url, { accept: manifestTypes });
  const challenge = first.status === 401 ? first.headers.get('www-authenticate') : null;
  const answer =
    challenge === null
      ? first
      : await ask(name, url, {
          accept: manifestTypes,
          authorization: `Bearer ${await token(name, challenge)}`,
        });
  const digest = answer.headers.get('docker-content-digest') ?? '';
  if (!(answer.ok && /^sha256:[0-9a-f]{64}$/.test(digest))) {
    throw new ImageError(`${registry} has no digest of ${name}: HTTP ${answer.status}`);
  }
  return digest;
}

/** Anonymous, as the registry's challenge says where. */
async function token(name: string, challenge: string): Promise<string> {
  const value = (key: string) => new RegExp(`${key}="([^"]*)"`).exec(challenge)?.[1];
  const realm = value('realm');
  if (realm === undefined) throw new ImageError(`the registry of ${name} wants a login that is none of ours`);
  const url = new URL(realm);
  for (const key of ['service', 'scope']) url.searchParams.set(key, value(key) ?? '');
  const answer = (await (await ask(name, url, {}, 'GET')).json()) as {
    token?: string;
    access_token?: string;
  };
  return answer.token ?? answer.access_token ?? '';
}

async function ask(
  name: string,
  url: string | URL,
  headers: Record<string, string>,
  method = 'HEAD',
): Promise<Response> {
  const signal = AbortSignal.timeout(30_000);
  return await fetch(url, { method, headers, signal }).catch((cause) => {
    throw new ImageError(`the registry of ${name} does not answer, so its digest stays as it is`, { cause });
  });
}
