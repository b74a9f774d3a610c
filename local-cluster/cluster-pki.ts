/**
 * Cluster PKI: the keys, certificates and kubeconfigs of one cluster's members, as files in its folder.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderKubeconfig } from './kubeconfig.ts';
import { type Authority, createAuthority, createKeyPair, type KeyAndCertificate } from './pki.ts';

export interface Pki {
  /** PEM of the certificate authority. */
  authority: string;
  /** The administrator: member of system:masters. */
  admin: KeyAndCertificate;
  /** The path of a file, as in `file('apiserver.crt')`. */
  file(name: string): string;
  /** Issues `<name>.crt` and `<name>.key` and returns both. */
  issue(name: string, subject: Parameters<Authority['issue']>[0]): Promise<KeyAndCertificate>;
  /** Writes `<name>.kubeconfig` into the cluster's folder and returns its path. */
  writeKubeconfig(name: string, server: string, user: KeyAndCertificate): string;
}

/** @param addresses what the API server answers to, beyond its usual names */
export async function createPki(directory: string, addresses: readonly string[]): Promise<Pki> {
  const folder = join(directory, 'pki');
  mkdirSync(folder);
  const write = (name: string, content: string) =>
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  const authority = await createAuthority('atwatch-cluster-ca');
  write('ca.crt', authority.certificate);
  write('ca.key', authority.key);
  const serviceAccounts = createKeyPair();
  write('service-accounts.key', serviceAccounts.privateKey);
  write('service-accounts.pub', serviceAccounts.publicKey);
  const issue: Pki['issue'] = async (name, subject) => {
    const issued = await authority.issue(subject);
    write(`${name}.crt`, issued.certificate);
    write(`${name}.key`, issued.key);
    return issued;
  };
  await issue('apiserver', { name: 'kube-apiserver', hosts: [...apiServerNames, ...addresses] });
  return {
    authority: authority.certificate,
    admin: await issue('admin', { name: 'kubernetes-admin', organization: 'system:masters' }),
    file: (name) => join(folder, name),
    issue,
    writeKubeconfig(name, server, user) {
      const path = join(directory, name === 'admin' ? 'kubeconfig' : `${name}.kubeconfig`);
      const content = renderKubeconfig({ server, authority: authority.certificate, user });
      writeFileSync(path, content, { mode: 0o600 });
      return path;
    },
  };
}

const apiServerNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];
