import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get as getSecurely, type RequestOptions } from 'node:https';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { Registry } from '@prometheus-io/client';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { MetricsAccess } from '../../../src/runtime/metrics/metrics-access.ts';
import { metricsServer } from '../../../src/runtime/metrics/metrics-server.ts';
import { selfSignedCertificate } from '../../../src/runtime/metrics/self-signed-certificate.ts';
import { ServingCertificate } from '../../../src/runtime/metrics/serving-certificate.ts';
import { FakeClock } from '../../fake/clock.ts';
import { until } from '../../fake/until.ts';

const day = 86_400_000;
const today = Date.UTC(2026, 10, 22);

interface Spec {
  readonly token?: string;
  readonly user?: string;
  readonly nonResourceAttributes?: object;
}

/** An API server that knows the tokens `prometheus`, who may read the metrics, and `visitor`, who may not. */
function reviewer() {
  const asked: string[] = [];
  const state = { isAway: false };
  const create = async ({ kind }: { kind: string }, { spec }: { spec: Spec }) => {
    asked.push(kind);
    if (state.isAway) throw new Error('the API server is away');
    if (kind === 'TokenReview') {
      const username = String(spec.token);
      const authenticated = ['prometheus', 'visitor'].includes(username);
      return { status: { authenticated, ...(authenticated && { user: { username, groups: ['g'] } }) } };
    }
    assert.deepEqual(spec.nonResourceAttributes, { path: '/metrics', verb: 'get' });
    return { status: { allowed: spec.user === 'prometheus' } };
  };
  return { asked, state, client: { create } as unknown as Client };
}

async function serving(t: TestContext, certificateDirectory?: string) {
  // TLS goes by the machine's clock.
  const clock = new FakeClock({ now: Date.now() });
  const review = reviewer();
  const server = metricsServer({
    ...{ bindAddress: '127.0.0.1:0', registry: new Registry(), log: silentLogger },
    secure: {
      certificate: new ServingCertificate({
        ...{ clock, log: silentLogger },
        ...(certificateDirectory && { certificateDirectory }),
      }),
      access: new MetricsAccess({ client: review.client, clock }),
    },
  });
  await server.start();
  t.after(() => server.stop());
  const port = Number(server.address?.split(':').at(-1));
  return { clock, ...review, server, port };
}

interface Answer {
  readonly status: number | undefined;
  readonly certificate: string;
}

function get(port: number, token?: string, options: RequestOptions = {}): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const request = getSecurely(
      {
        ...{ host: '127.0.0.1', port, path: '/metrics', agent: false, timeout: 10_000 },
        ...{ headers, rejectUnauthorized: false },
        ...options,
      },
      (response) => {
        const { raw } = (response.socket as TLSSocket).getPeerCertificate();
        response.resume();
        response.on('end', () =>
          resolve({ status: response.statusCode, certificate: new X509Certificate(raw).toString() }),
        );
      },
    );
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('no answer')));
  });
}

describe('the certificate that is made', () => {
  it('is one that a client which trusts it accepts for its name, and for no other', async () => {
    const { cert } = selfSignedCertificate('metrics.example', today, today + 365 * day);
    const certificate = new X509Certificate(cert);
    assert.ok(certificate.verify(certificate.publicKey));
    assert.equal(certificate.checkHost('metrics.example'), 'metrics.example');
    assert.equal(certificate.checkHost('other.example'), undefined);
    assert.equal(certificate.validFromDate.getTime(), today);
    assert.equal(certificate.validToDate.getTime(), today + 365 * day);
  });

  it('is a new one each time', () => {
    const [one, other] = [1, 2].map(() => selfSignedCertificate('a', today, today + day));
    assert.notEqual(one?.key, other?.key);
    const serials = [one, other].map((made) => new X509Certificate(made?.cert ?? '').serialNumber);
    assert.notEqual(serials[0], serials[1]);
  });

  it('lasts for longer than the names and times of the coming decades are long', () => {
    const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.example`;
    const { cert } = selfSignedCertificate(name, Date.UTC(2051, 0, 1), Date.UTC(2052, 0, 1));
    const certificate = new X509Certificate(cert);
    assert.equal(certificate.checkHost(name), name);
    assert.equal(certificate.validFromDate.getUTCFullYear(), 2051);
  });

  it('is trusted by name in a handshake', async (t) => {
    const { port } = await serving(t);
    const { certificate } = await get(port, 'prometheus');
    const trusting = { ca: certificate, rejectUnauthorized: true, servername: 'atwatch-metrics' };
    assert.equal((await get(port, 'prometheus', trusting)).status, 200);
    const other = { ...trusting, servername: 'other.example' };
    await assert.rejects(get(port, 'prometheus', other), /does not match certificate/);
  });

  it('is renewed a month before it ends', async () => {
    const clock = new FakeClock();
    const certificate = new ServingCertificate({ clock, log: silentLogger });
    const first = await certificate.current();
    await clock.advance(334 * day);
    assert.equal(await certificate.current(), first);
    await clock.advance(2 * day);
    assert.notEqual(await certificate.current(), first);
  });
});

describe('a certificate from files', () => {
  async function folder(t: TestContext) {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-certificate-'));
    t.after(() => rm(directory, { recursive: true }));
    const write = async (name: string, parts = ['cert', 'key'] as readonly ('cert' | 'key')[]) => {
      const made = selfSignedCertificate(name, today, today + day);
      if (parts.includes('cert')) await writeFile(join(directory, 'tls.crt'), made.cert);
      if (parts.includes('key')) await writeFile(join(directory, 'tls.key'), made.key);
    };
    return { directory, write };
  }
  const nameOf = ({ certificate }: Answer) => new X509Certificate(certificate).subject;

  it('is read again within a minute of its replacement', async (t) => {
    const { directory, write } = await folder(t);
    await write('one.example');
    const { port, clock } = await serving(t, directory);
    assert.equal(nameOf(await get(port, 'prometheus')), 'CN=one.example');
    await write('two.example');
    await clock.advance(60_000);
    let shown = '';
    for (let tries = 0; tries < 20 && shown !== 'CN=two.example'; tries++) {
      shown = nameOf(await get(port, 'prometheus'));
    }
    assert.equal(shown, 'CN=two.example');
  });

  it('is kept while key and certificate do not fit', async (t) => {
    const { directory, write } = await folder(t);
    await write('one.example');
    const { port, clock } = await serving(t, directory);
    await write('two.example', ['cert']);
    await clock.advance(60_000);
    for (let count = 0; count < 3; count++) {
      assert.equal(nameOf(await get(port, 'prometheus')), 'CN=one.example');
    }
  });

  it('is required at the start', async (t) => {
    const { directory } = await folder(t);
    await assert.rejects(serving(t, directory), /cannot serve metrics on .*credential file cannot be read/);
  });
});

describe('who may read the metrics', () => {
  it('is a user of the cluster with the right to get the URL', async (t) => {
    const { port } = await serving(t);
    assert.equal((await get(port, 'prometheus')).status, 200);
    assert.equal((await get(port, 'visitor')).status, 403);
    assert.equal((await get(port, 'unknown')).status, 401);
    assert.equal((await get(port)).status, 401);
  });

  it('is asked for once a minute, by however many requests', async (t) => {
    const { port, asked, clock } = await serving(t);
    await Promise.all(Array.from({ length: 10 }, () => get(port, 'prometheus')));
    await get(port, 'prometheus');
    assert.deepEqual(asked, ['TokenReview', 'SubjectAccessReview']);
    await clock.advance(60_000);
    await get(port, 'prometheus');
    assert.equal(asked.length, 4);
  });

  it('is no user while the API server does not say so, and is asked for again then', async (t) => {
    const { port, state } = await serving(t);
    state.isAway = true;
    assert.equal((await get(port, 'prometheus')).status, 500);
    state.isAway = false;
    assert.equal((await get(port, 'prometheus')).status, 200);
  });

  it('is not asked about what is no token', async () => {
    const { client, asked } = reviewer();
    const access = new MetricsAccess({ client, clock: new FakeClock() });
    for (const header of ['Basic cHJvbWV0aGV1cw==', 'Bearer ', 'Bearer a b', `Bearer ${'x'.repeat(8193)}`]) {
      assert.equal(await access.of(header, '/metrics'), 'Unauthenticated', header);
    }
    assert.deepEqual(asked, []);
  });

  it('is remembered for a hundred tokens at most', async () => {
    const { client, asked } = reviewer();
    const access = new MetricsAccess({ client, clock: new FakeClock() });
    await access.of('Bearer prometheus', '/metrics');
    for (let count = 0; count < 100; count++) await access.of(`Bearer ${count}`, '/metrics');
    asked.length = 0;
    await access.of('Bearer prometheus', '/metrics');
    assert.equal(asked.length, 2);
  });
});

describe('connections that never say what they want', () => {
  it('do not keep out who does', async (t) => {
    const { port, server } = await serving(t);
    const sockets: Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (let count = 0; count < 150; count++) {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      sockets.push(socket);
    }
    await until(() => sockets.every(({ connecting }) => !connecting));
    assert.equal((await get(port, 'prometheus')).status, 200);
    // And none holds up the stop.
    await server.stop();
    await until(() => sockets.every(({ closed }) => closed));
  });
});
