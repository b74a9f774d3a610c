/**
 * Serving certificate: what the metrics server shows, from files that are replaced from outside now and then (as
 * cert-manager does), or made here and known to nothing else.
 */
import { join } from 'node:path';
import { CredentialFile } from '../client/credential-file.ts';
import type { Clock } from '../clock.ts';
import type { CertificateSource, CertifiedKey } from '../http-server.ts';
import type { Logger } from '../logger.ts';
import { selfSignedCertificate } from './self-signed-certificate.ts';

export interface ServingCertificateOptions {
  /** A folder with `tls.crt` and `tls.key`, both PEM. Absent: a certificate is made. */
  readonly certificateDirectory?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds after which the files are read again. */
const rereadMs = 60_000;
const dayMs = 86_400_000;
/** How long a certificate that is made here is valid, and how long before that another one is made. */
const validMs = 365 * dayMs;
const renewMs = 30 * dayMs;

export class ServingCertificate implements CertificateSource {
  readonly #options: ServingCertificateOptions;
  readonly #files: readonly [cert: CredentialFile, key: CredentialFile] | undefined;
  #current: CertifiedKey | undefined;
  /** Monotonic milliseconds from which it is looked for another one. */
  #dueAt = Number.NEGATIVE_INFINITY;

  constructor(options: ServingCertificateOptions) {
    this.#options = options;
    const { certificateDirectory: directory } = options;
    if (directory === undefined) return;
    this.#files = [
      new CredentialFile(join(directory, 'tls.crt')),
      new CredentialFile(join(directory, 'tls.key')),
    ];
  }

  /**
   * The same object for as long as it is the same certificate.
   *
   * @throws {Error} when the files could never be read.
   */
  async current(): Promise<CertifiedKey> {
    const { clock } = this.#options;
    if (this.#current !== undefined && clock.monotonic() < this.#dueAt) return this.#current;
    const next = this.#files === undefined ? this.#made() : await this.#read(this.#files);
    this.#dueAt = clock.monotonic() + (this.#files === undefined ? validMs - renewMs : rereadMs);
    const { cert, key } = this.#current ?? {};
    if (next.cert !== cert || next.key !== key) this.#current = next;
    return this.#current ?? next;
  }

  #made(): CertifiedKey {
    const second = Math.floor(this.#options.clock.now() / 1000) * 1000;
    // From a day ago, for clients whose clocks are behind.
    return selfSignedCertificate('atwatch-metrics', second - dayMs, second + validMs);
  }

  async #read([cert, key]: readonly [CredentialFile, CredentialFile]): Promise<CertifiedKey> {
    const kept = (err: unknown) =>
      this.#options.log.warn({ err }, 'the certificate of the metrics cannot be read; the last one is kept');
    const [certificate, privateKey] = await Promise.all([cert.read(kept), key.read(kept)]);
    return { cert: certificate, key: privateKey };
  }
}
