import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { pinnedBases, registryDigest, withDigests } from '../../../hack/image/pinned-bases.ts';

const digest = (character: string) => `sha256:${character.repeat(64)}`;
const dockerfile = (build: string, run: string) =>
  `# A comment.\nARG BUILD_IMAGE=docker.io/library/node:24-slim${build}\nARG RUN_IMAGE=gcr.io/base:nonroot${run}\nFROM x\n`;

test('a base without a digest is refused by name, with what to do', () => {
  const text = dockerfile(`@${digest('a')}`, '');
  assert.throws(
    () => pinnedBases(text),
    /gcr\.io\/base:nonroot without a digest: run make renew-base-images/,
  );
});

test('the bases of the Dockerfile have digests', () => {
  assert.match(pinnedBases().build, /^docker\.io\/library\/node:24-slim@sha256:[0-9a-f]{64}$/);
  assert.match(pinnedBases().run, /^gcr\.io\/distroless\/nodejs24-debian13:nonroot@sha256:[0-9a-f]{64}$/);
});

test('new digests replace old ones, in place, and nothing else changes', async () => {
  const asked: string[] = [];
  const renewed = await withDigests(dockerfile(`@${digest('a')}`, ''), async (name) => {
    asked.push(name);
    return digest(name.startsWith('docker.io') ? 'b' : 'c');
  });
  assert.deepEqual(asked, ['docker.io/library/node:24-slim', 'gcr.io/base:nonroot']);
  assert.equal(renewed, dockerfile(`@${digest('b')}`, `@${digest('c')}`));
  assert.deepEqual(pinnedBases(renewed), {
    build: `docker.io/library/node:24-slim@${digest('b')}`,
    run: `gcr.io/base:nonroot@${digest('c')}`,
  });
});

test('a registry that does not answer leaves the file as it is', async () => {
  const refuse = () => Promise.reject(new Error('no answer'));
  await assert.rejects(withDigests(dockerfile('', ''), refuse), /no answer/);
});

/** A registry that wants a token, as public ones do. */
async function registry(t: TestContext, answer: (request: IncomingMessage) => number): Promise<string> {
  const server = createServer((request, response) => {
    const host = request.headers.host;
    if (request.url?.startsWith('/token')) {
      response.end(JSON.stringify({ token: 'anonymous' }));
    } else if (request.headers.authorization !== 'Bearer anonymous') {
      const challenge = `Bearer realm="http://${host}/token",service="s",scope="repository:library/node:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    } else {
      response.writeHead(answer(request), { 'docker-content-digest': digest('d') }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the digest is the one that the registry gives, to an anonymous token', async (t) => {
  const asked: string[] = [];
  const host = await registry(t, ({ method, url, headers }) => {
    asked.push(`${method} ${url}`, headers.accept ?? '');
    return 200;
  });
  assert.equal(await registryDigest(`${host}/library/node:24-slim`, 'http'), digest('d'));
  assert.equal(asked[0], 'HEAD /v2/library/node/manifests/24-slim');
  assert.match(asked[1] ?? '', /oci\.image\.index\.v1\+json.+manifest\.list/);
});

test('a tag that is not there, and a registry that is not, are errors', async (t) => {
  const host = await registry(t, () => 404);
  await assert.rejects(registryDigest(`${host}/library/node:none`, 'http'), /no digest of .+: HTTP 404/);
  await assert.rejects(registryDigest('127.0.0.1:1/library/node:24', 'http'), /does not answer/);
});
