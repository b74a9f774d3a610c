/**
 * Kubeconfig: one server, one user, everything inside the file, so that it can be copied and outlives its folder.
 */
import type { KeyAndCertificate } from './pki.ts';

export interface KubeconfigParts {
  /** As in https://127.0.0.1:6443. */
  server: string;
  /** PEM of the certificate authority. */
  authority: string;
  user: KeyAndCertificate;
}

export function renderKubeconfig({ server, authority, user }: KubeconfigParts): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: atwatch
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(authority)}
users:
- name: atwatch
  user:
    client-certificate-data: ${base64(user.certificate)}
    client-key-data: ${base64(user.key)}
contexts:
- name: atwatch
  context:
    cluster: atwatch
    user: atwatch
current-context: atwatch
`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
