import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fullImageName, ImageStore } from '../../local-cluster/images.ts';
import { answer, parsePull } from '../../local-cluster/registry.ts';

const names = [
  { name: 'busybox', full: 'docker.io/library/busybox:latest' },
  { name: 'k8spatterns/mini-http-server', full: 'docker.io/k8spatterns/mini-http-server:latest' },
  { name: 'busybox:1.36', full: 'docker.io/library/busybox:1.36' },
  { name: 'ghcr.io/me/app:v1', full: 'ghcr.io/me/app:v1' },
  { name: 'localhost:5000/app', full: 'localhost:5000/app:latest' },
];

for (const { name, full } of names) {
  test(`${name} stands for ${full}`, () => {
    assert.equal(fullImageName(name), full);
  });
}

/** Images are made with GNU tar, for a node, which needs Linux too. */
const linuxOnly = { skip: process.platform !== 'linux' };

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** A store with the image docker.io/library/app:latest of one file, last changed at `seconds` since the epoch. */
function storeWithApp(directory: string, seconds = 1): ImageStore {
  const root = join(directory, 'root');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'app'), 'a program');
  chmodSync(join(root, 'app'), 0o755);
  utimesSync(join(root, 'app'), seconds, seconds);
  const store = new ImageStore(join(directory, 'store'));
  store.create('docker.io/library/app:latest', root, { Entrypoint: ['/app'] });
  return store;
}

test('the same files give the same image, whenever they were made', linuxOnly, (t) => {
  const directory = temporary(t);
  const digest = (seconds: number) =>
    storeWithApp(directory, seconds).resolve('docker.io/library/app:latest')?.digest;
  assert.match(digest(1) ?? '', /^sha256:[0-9a-f]{64}$/);
  assert.equal(digest(1_000_000), digest(1));
});

test('an archive is taken over under the name that is given', linuxOnly, (t) => {
  const directory = temporary(t);
  const archive = join(directory, 'app.tar');
  const made = storeWithApp(directory);
  execFileSync('tar', ['-C', made.directory, '-cf', archive, '.']);
  const store = new ImageStore(join(directory, 'other'));
  store.import(archive, 'ghcr.io/me/app:v1');
  assert.equal(
    store.resolve('ghcr.io/me/app:v1')?.digest,
    made.resolve('docker.io/library/app:latest')?.digest,
  );
  assert.equal(store.resolve('docker.io/library/app:latest'), undefined);
});

const badArchives = [
  { name: 'no archive at all', content: 'text', message: /cannot unpack/ },
  { name: 'an archive of something else', content: undefined, message: /is no OCI image archive/ },
];

for (const { name, content, message } of badArchives) {
  test(`${name} is refused`, (t) => {
    const directory = temporary(t);
    const archive = join(directory, 'bad.tar');
    if (content === undefined) {
      mkdirSync(join(directory, 'content'));
      execFileSync('tar', ['-C', join(directory, 'content'), '-cf', archive, '.']);
    } else {
      writeFileSync(archive, content);
    }
    const store = new ImageStore(join(directory, 'store'));
    assert.throws(() => store.import(archive, 'x'), { name: 'ClusterError', message });
  });
}

test('the request names the registry in whose place it is answered', () => {
  assert.deepEqual(parsePull('/v2/me/app/manifests/v1?ns=ghcr.io'), {
    kind: 'manifests',
    registry: 'ghcr.io',
    repository: 'me/app',
    reference: 'v1',
  });
  assert.equal(parsePull('/v2/library/app/blobs/sha256:00')?.registry, 'docker.io');
  assert.equal(parsePull('/v2/_catalog'), undefined);
});

test(
  'the registry serves an image by its tag, its digest and its blobs, and nothing else',
  linuxOnly,
  async (t) => {
    const store = storeWithApp(temporary(t));
    const server = createServer((request, response) => answer(store, request, response)).listen(
      0,
      '127.0.0.1',
    );
    t.after(() => server.close());
    await once(server, 'listening');
    const fetchPath = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method });

    assert.equal((await fetchPath('/v2/')).status, 200);
    const head = await fetchPath('/v2/library/app/manifests/latest?ns=docker.io', 'HEAD');
    const digest = head.headers.get('docker-content-digest') ?? '';
    assert.equal(head.headers.get('content-type'), 'application/vnd.oci.image.manifest.v1+json');
    const byDigest = await fetchPath(`/v2/library/app/manifests/${digest}`);
    assert.equal(byDigest.headers.get('content-type'), 'application/vnd.oci.image.manifest.v1+json');
    const manifest = (await byDigest.json()) as { layers: { digest: string; size: number }[] };
    const layer = manifest.layers[0];
    const blob = await (await fetchPath(`/v2/library/app/blobs/${layer?.digest}`)).arrayBuffer();
    assert.equal(blob.byteLength, layer?.size);

    const unknown = [
      '/v2/library/app/manifests/v2',
      '/v2/library/app/manifests/latest?ns=quay.io',
      `/v2/library/app/blobs/sha256:${'0'.repeat(64)}`,
      '/v2/library/app/blobs/..%2f..%2findex.json',
      '/',
    ];
    for (const path of unknown) {
      const response = await fetchPath(path);
      assert.equal(response.status, 404, path);
      await response.body?.cancel();
    }
  },
);
