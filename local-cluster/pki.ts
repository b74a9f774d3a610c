/**
 * PKI: a certificate authority that lives as long as one cluster, and the certificates of its members.
 *
 * Node makes keys and signatures but no certificates; writing those few bytes here (RFC 5280) spares the
 * dependency on an openssl program.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import {
  bitString,
  boolean,
  integer,
  octetString,
  oid,
  sequence,
  set,
  tagged,
  utcTime,
  utf8String,
} from './der.ts';

/** Both as PEM. */
export interface KeyAndCertificate {
  key: string;
  certificate: string;
}

/** Whom a certificate speaks of: Kubernetes reads the user from the name and the group from the organization. */
export interface Subject {
  name: string;
  organization?: string;
  /** DNS names and IPv4 addresses that a server answers to. */
  hosts?: readonly string[];
}

export interface Authority {
  /** PEM. */
  certificate: string;
  /** PEM of the authority's private key: the controller manager signs CertificateSigningRequests with it. */
  key: string;
  issue(subject: Subject): KeyAndCertificate;
}

const day = 24 * 3_600_000;
/** From an hour ago, for machines whose clocks differ a little. */
const validity = { before: 3_600_000, after: 365 * day };

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
};

/** Bits of KeyUsage, first bit leftmost: digitalSignature is bit 0, keyCertSign bit 5, cRLSign bit 6. */
const usages = {
  leaf: bitString(Buffer.from([0b1000_0000]), 7),
  authority: bitString(Buffer.from([0b1000_0110]), 1),
};

export function createAuthority(name: string, now = Date.now()): Authority {
  const issuer = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certify = (subject: Subject, publicKey: KeyObject, extensions: readonly Buffer[]) =>
    certificate({ issuer: { name }, issuerKey: issuer.privateKey, subject, publicKey, extensions, now });
  return {
    certificate: certify({ name }, issuer.publicKey, [
      extension(oids.basicConstraints, sequence(boolean(true)), true),
      extension(oids.keyUsage, usages.authority, true),
    ]),
    key: pem(issuer.privateKey),
    issue(subject) {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return {
        key: pem(privateKey),
        certificate: certify(subject, publicKey, leafExtensions(subject, issuer.publicKey)),
      };
    },
  };
}

/** A key pair without a certificate, as ServiceAccount tokens are signed with; both as PEM. */
export function createKeyPair(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privateKey: pem(privateKey),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

interface CertificateRequest {
  issuer: Subject;
  issuerKey: KeyObject;
  subject: Subject;
  publicKey: KeyObject;
  extensions: readonly Buffer[];
  now: number;
}

function certificate({ issuer, issuerKey, subject, publicKey, extensions, now }: CertificateRequest): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    algorithm,
    distinguishedName(issuer),
    sequence(utcTime(now - validity.before), utcTime(now + validity.after)),
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(
      0xa3,
      sequence(extension(oids.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))), ...extensions),
    ),
  );
  const signature = sign('sha256', toBeSigned, issuerKey);
  const der = sequence(toBeSigned, algorithm, bitString(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** 127 random bits; the set bit keeps the number's encoding free of leading zeros, which DER forbids. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function distinguishedName({ name, organization }: Subject): Buffer {
  const attribute = (type: string, value: string) => set(sequence(oid(type), utf8String(value)));
  return sequence(
    ...(organization === undefined ? [] : [attribute(oids.organization, organization)]),
    attribute(oids.commonName, name),
  );
}

function leafExtensions({ hosts = [] }: Subject, issuerKey: KeyObject): Buffer[] {
  return [
    extension(oids.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(issuerKey)))),
    extension(oids.keyUsage, usages.leaf, true),
    extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth), oid(oids.clientAuth))),
    ...(hosts.length === 0 ? [] : [extension(oids.subjectAltName, sequence(...hosts.map(generalName)))]),
  ];
}

/** Any value that differs from key to key will do (RFC 5280, 4.2.1.2); strict clients ask for it. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

/** Within GeneralName a DNS name has the tag 2 and an IP address the tag 7. */
function generalName(host: string): Buffer {
  return isIPv4(host)
    ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
    : tagged(0x82, Buffer.from(host, 'ascii'));
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value));
}
