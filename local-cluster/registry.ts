/**
 * Registry: serves a folder of images in the node's network namespace, in the place of every registry of the world.
 *
 * It is the pulling half of the OCI distribution specification.
 */
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ImageStore } from './images.ts';

/** What a request asks for: `ns` names the registry in whose place we answer. */
export interface PullRequest {
  kind: 'manifests' | 'blobs';
  registry: string;
  repository: string;
  /** A tag or a digest. */
  reference: string;
}

/** Undefined for what is not a pull, for example the path of the version check. */
export function parsePull(url: string): PullRequest | undefined {
  const { pathname, searchParams } = new URL(url, 'http://registry');
  const match = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname);
  if (match === null) {
    return undefined;
  }
  const [, repository = '', kind, reference = ''] = match;
  return {
    kind: kind === 'blobs' ? 'blobs' : 'manifests',
    registry: searchParams.get('ns') ?? 'docker.io',
    repository,
    reference,
  };
}

/** Answers GET and HEAD. */
export function answer(store: ImageStore, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://registry');
  if (pathname === '/v2/' || pathname === '/v2') {
    response.end();
    return;
  }
  const pull = parsePull(request.url ?? '/');
  const found = pull === undefined ? undefined : resolve(store, pull);
  const path = found === undefined ? undefined : store.blob(found.digest);
  if (pull === undefined || found === undefined || path === undefined || !existsSync(path)) {
    const code = pull?.kind === 'blobs' ? 'BLOB_UNKNOWN' : 'MANIFEST_UNKNOWN';
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ errors: [{ code, message: 'this registry does not have it' }] }));
    return;
  }
  response.writeHead(200, {
    'content-type': found.mediaType,
    'content-length': statSync(path).size,
    'docker-content-digest': found.digest,
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  createReadStream(path)
    .on('error', () => response.destroy())
    .pipe(response);
}

function resolve(store: ImageStore, { kind, registry, repository, reference }: PullRequest) {
  if (kind === 'blobs') {
    return { digest: reference, mediaType: 'application/octet-stream' };
  }
  if (reference.includes(':')) {
    return { digest: reference, mediaType: manifestType(store.blob(reference)) };
  }
  return store.resolve(`${registry}/${repository}:${reference}`);
}

/** A manifest that is asked for by its digest says itself what it is. */
function manifestType(path: string | undefined): string {
  const { mediaType } = path !== undefined && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return mediaType ?? 'application/vnd.oci.image.manifest.v1+json';
}
