/**
 * PKI: a certificate authority that lives as long as one cluster, and the certificates of its members.
 */
// The certificate library registers its algorithms through it.
import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { isIPv4 } from 'node:net';
import * as x509 from '@peculiar/x509';

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
  issue(subject: Subject): Promise<KeyAndCertificate>;
}

const day = 24 * 3_600_000;
/** From an hour ago, for machines whose clocks differ a little. */
const validity = { before: 3_600_000, after: 365 * day };
const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };

/** @param now epoch ms. */
export async function createAuthority(name: string, now = Date.now()): Promise<Authority> {
  const keys = await generateKeys();
  const usage = x509.KeyUsageFlags;
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...common(now),
    name: nameOf({ name }),
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(usage.digitalSignature | usage.keyCertSign | usage.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate: authority.toString('pem'),
    key: await pemOf(keys.privateKey),
    async issue(subject) {
      const { privateKey, publicKey } = await generateKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        ...common(now),
        subject: nameOf(subject),
        issuer: authority.subjectName,
        signingKey: keys.privateKey,
        publicKey,
        extensions: [
          ...leafExtensions(subject),
          await x509.SubjectKeyIdentifierExtension.create(publicKey),
          await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return { key: await pemOf(privateKey), certificate: certificate.toString('pem') };
    },
  };
}

/** A key pair without a certificate, as ServiceAccount tokens are signed with; both as PEM. */
export function createKeyPair(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

function common(now: number) {
  return {
    notBefore: new Date(now - validity.before),
    notAfter: new Date(now + validity.after),
    signingAlgorithm,
  };
}

function nameOf({ name, organization }: Subject): x509.JsonName {
  return [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [name] }];
}

function leafExtensions({ hosts = [] }: Subject): x509.Extension[] {
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const names = hosts.map((value) => ({ type: isIPv4(value) ? ('ip' as const) : ('dns' as const), value }));
  return [
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
  ];
}
