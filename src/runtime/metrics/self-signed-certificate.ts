/**
 * Self-signed certificate: what a server shows whose clients have a secret to keep from eavesdroppers, and do not ask who
 * the server is. X.509 version 3 (RFC 5280), written by hand: a library for it would be a third of the operator's file.
 */
import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { CertifiedKey } from '../http-server.ts';

const tag = {
  integer: 2,
  bitString: 3,
  octetString: 4,
  oid: 6,
  utf8: 12,
  generalizedTime: 24,
  sequence: 48,
  set: 49,
};
/** Context-specific tags: of the certificate's version and extensions, and of a DNS name among alternative names. */
const versionTag = 160;
const extensionsTag = 163;
const dnsNameTag = 130;
const ecdsaWithSha256 = '2a8648ce3d040302';
const commonName = '550403';
const subjectAlternativeName = '551d11';

/**
 * A new P-256 key and its certificate.
 *
 * @param name the DNS name that it is for.
 * @param from epoch milliseconds, with whole seconds; from then on it is valid.
 * @param until epoch milliseconds; after it, it is not.
 */
export function selfSignedCertificate(name: string, from: number, until: number): CertifiedKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
  const signature = sequence(oid(ecdsaWithSha256));
  const subject = sequence(der(tag.set, sequence(oid(commonName), der(tag.utf8, Buffer.from(name)))));
  const alternativeNames = sequence(der(dnsNameTag, Buffer.from(name)));
  const extension = sequence(oid(subjectAlternativeName), der(tag.octetString, alternativeNames));
  // Positive, as RFC 5280 wants a serial number.
  const serial = Buffer.concat([Buffer.of(1), randomBytes(15)]);
  const certificate = sequence(
    der(versionTag, der(tag.integer, Buffer.of(2))),
    der(tag.integer, serial),
    ...[signature, subject, sequence(time(from), time(until)), subject, publicKey],
    der(extensionsTag, sequence(extension)),
  );
  const signed = createSign('sha256').update(certificate).sign(privateKey);
  const whole = sequence(certificate, signature, der(tag.bitString, Buffer.of(0), signed));
  const lines = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`, key: privateKey };
}

/** Tag, length, contents. */
function der(tagOf: number, ...parts: readonly Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const size = contents.length;
  const length = size < 128 ? [size] : size < 256 ? [129, size] : [130, size >> 8, size & 255];
  return Buffer.concat([Buffer.of(tagOf, ...length), contents]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(tag.sequence, ...parts);
}

function oid(hex: string): Buffer {
  return der(tag.oid, Buffer.from(hex, 'hex'));
}

function time(instant: number): Buffer {
  const digits = new Date(instant).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(tag.generalizedTime, Buffer.from(digits));
}
