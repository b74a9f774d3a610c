import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createAuthority, type KeyAndCertificate } from '../../local-cluster/pki.ts';

const authority = await createAuthority('test-ca');

test('the authority certifies itself as one', () => {
  const certificate = new X509Certificate(authority.certificate);
  assert.ok(certificate.ca);
  assert.ok(certificate.verify(certificate.publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(authority.key)));
});

test('a certificate names the user, the group and the hosts', async () => {
  const issued = await authority.issue({
    name: 'system:node:a',
    organization: 'system:nodes',
    hosts: ['a', '10.0.0.1'],
  });
  const certificate = new X509Certificate(issued.certificate);
  assert.equal(certificate.subject, 'O=system:nodes\nCN=system:node:a');
  assert.equal(certificate.subjectAltName, 'DNS:a, IP Address:10.0.0.1');
  assert.ok(!certificate.ca);
  assert.ok(certificate.checkIssued(new X509Certificate(authority.certificate)));
  assert.ok(certificate.verify(new X509Certificate(authority.certificate).publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(issued.key)));
});

test('a certificate is valid from a little before now for a year', async () => {
  const now = Date.UTC(2030, 0, 1, 12);
  const { validFromDate, validToDate } = new X509Certificate((await createAuthority('x', now)).certificate);
  assert.equal(validFromDate.toISOString(), '2030-01-01T11:00:00.000Z');
  assert.equal(validToDate.toISOString(), '2031-01-01T12:00:00.000Z');
});

test('no two serial numbers are the same', async () => {
  const issued = await Promise.all(Array.from({ length: 20 }, () => authority.issue({ name: 'x' })));
  const serials = issued.map(({ certificate }) => new X509Certificate(certificate));
  assert.equal(new Set(serials.map(({ serialNumber }) => serialNumber)).size, 20);
});

test('server and client trust each other over TLS; a stranger is refused', async (t) => {
  const server = await authority.issue({ name: 'server', hosts: ['127.0.0.1'] });
  const listener = createServer(
    { cert: server.certificate, key: server.key, ca: authority.certificate, requestCert: true },
    (request, response) => response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
  ).listen(0, '127.0.0.1');
  t.after(() => listener.close());
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const ask = (client: KeyAndCertificate) =>
    new Promise<string>((resolve, reject) => {
      const options = {
        port,
        host: '127.0.0.1',
        ca: authority.certificate,
        cert: client.certificate,
        key: client.key,
      };
      get({ ...options, agent: false }, (response) => {
        response.once('data', (data: Buffer) => resolve(data.toString()));
      }).once('error', reject);
    });
  assert.equal(await ask(await authority.issue({ name: 'alice' })), 'alice');
  const stranger = await createAuthority('test-ca');
  await assert.rejects(ask(await stranger.issue({ name: 'mallory' })));
});
