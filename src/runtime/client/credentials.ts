/**
 * Credentials: as whom requests are sent and how the server is trusted, from a KubeConfig. Tokens and
 * certificates rotate, so everything is read again when it is a minute old, without blocking, once for
 * all who ask meanwhile, and at once when the server refused what was sent.
 */
import type { KubeConfig, User } from '@kubernetes/client-node';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { CredentialFile } from './credential-file.ts';
import { Endpoint, type TlsOptions } from './endpoint.ts';
import { ExecPlugin, type PluginCredentials } from './exec-plugin.ts';
import {
  assertSupported,
  type CompleteCluster,
  type CompleteUser,
  clusterInfo,
  idTokenOf,
  KubeConfigError,
  tokenFileOf,
} from './kubeconfig-entries.ts';

/** Valid together; the same object until something has changed. */
export interface CredentialSet {
  readonly endpoint: Endpoint;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Milliseconds after which everything is read again. */
const maxAge = 60_000;
/** Milliseconds between two readings because of refusals: a revoked token must not start a plugin per call. */
const minAge = 5000;
/** Milliseconds after which a plugin that never answers is run again. */
const hungAfter = 60_000;

/** @param kept called with the reason when an older content is returned. */
type Source = (kept: (reason: unknown) => void) => Promise<Buffer | undefined>;

interface Flight {
  readonly startedAt: number;
  readonly result: Promise<CredentialSet>;
}

export class Credentials {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #cluster: CompleteCluster;
  readonly #user: CompleteUser;
  readonly #server: URL;
  readonly #sources: {
    readonly ca: Source;
    readonly cert: Source;
    readonly key: Source;
    readonly token: Source;
  };
  readonly #plugin: ExecPlugin | undefined;
  #current: CredentialSet | undefined;
  #fingerprint = '';
  #readAt = Number.NEGATIVE_INFINITY;
  #flight: Flight | undefined;
  #problem = '';

  /** @throws {KubeConfigError} when the configuration names no cluster, or a way to log in that does not work here. */
  constructor(kubeConfig: KubeConfig, clock: Clock, log: Logger) {
    const cluster = kubeConfig.getCurrentCluster();
    if (!cluster?.server) throw new KubeConfigError('the kubeconfig names no server for its current context');
    if (!URL.canParse(cluster.server))
      throw new KubeConfigError(`${cluster.server} is no URL of an API server`);
    this.#clock = clock;
    this.#log = log;
    this.#cluster = cluster;
    this.#server = new URL(cluster.server);
    // As kubectl: nothing secret goes to a server that is not asked over TLS.
    const user = this.#server.protocol === 'https:' ? kubeConfig.getCurrentUser() : null;
    this.#user = user ?? { name: '' };
    assertSupported(this.#user, cluster);
    this.#sources = {
      ca: source(cluster.caFile, cluster.caData),
      cert: source(this.#user.certFile, this.#user.certData),
      key: source(this.#user.keyFile, this.#user.keyData),
      token: tokenSource(this.#user),
    };
    const { name, exec, execEnvironment: environment = {} } = this.#user;
    this.#plugin = exec ? new ExecPlugin({ user: name, exec, environment, clock }) : undefined;
  }

  /** The URL of the API server. */
  get server(): URL {
    return this.#server;
  }

  /** What can be used without waiting; otherwise undefined, then {@link refresh}. */
  get fresh(): CredentialSet | undefined {
    const age = this.#clock.monotonic() - this.#readAt;
    if (age < maxAge) return this.#current;
    // Files are read in no time, but a plugin may take seconds, and a renewal of the Lease cannot wait.
    if (this.#plugin === undefined || age >= 2 * maxAge) return undefined;
    this.refresh().catch(() => {});
    return this.#current;
  }

  /** Reads everything again, unless that is under way already. */
  refresh(): Promise<CredentialSet> {
    const now = this.#clock.monotonic();
    if (this.#flight === undefined || now - this.#flight.startedAt > hungAfter) {
      const flight: Flight = { startedAt: now, result: this.#readOrKeep(now) };
      this.#flight = flight;
      const landed = () => {
        if (this.#flight === flight) this.#flight = undefined;
      };
      flight.result.then(landed, landed);
    }
    return this.#flight.result;
  }

  /**
   * The server refused these with 401. Resolves with others if there are any by now, otherwise undefined.
   */
  async renew(refused: CredentialSet): Promise<CredentialSet | undefined> {
    if (this.#current === refused && this.#clock.monotonic() - this.#readAt >= minAge) {
      this.#plugin?.reset();
      await this.refresh();
    }
    return this.#current === refused ? undefined : this.#current;
  }

  /** When a plugin fails, what it gave before may still be valid: the server will tell. */
  async #readOrKeep(now: number): Promise<CredentialSet> {
    const reasons: unknown[] = [];
    let result = this.#current;
    try {
      result = await this.#read(now, (reason) => reasons.push(reason));
    } catch (error) {
      if (result === undefined) throw error;
      this.#readAt = now - maxAge + minAge;
      reasons.push(error);
    }
    this.#report(reasons[0]);
    return result;
  }

  /** Says once why older ones stay in use, and once that this is over: it is tried again every minute. */
  #report(reason: unknown): void {
    const problem = reason === undefined ? '' : String(reason);
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (reason === undefined) this.#log.info('the credentials can be read again');
    else
      this.#log.warn({ err: reason }, 'the credentials cannot be read again; the last good ones stay in use');
  }

  async #read(now: number, kept: (reason: unknown) => void): Promise<CredentialSet> {
    const { ca, cert, key, token } = this.#sources;
    const caPem = await ca(kept);
    const [certPem, keyPem, bearer, plugin] = await Promise.all([
      cert(kept),
      key(kept),
      token(kept),
      this.#plugin?.credentials(clusterInfo(this.#cluster, caPem)),
    ]);
    const tls = this.#tls(caPem, plugin?.cert ?? certPem, plugin?.key ?? keyPem);
    const headers = [...authorization(this.#user, bearer, plugin), ...impersonation(this.#user)];
    this.#readAt = now;
    return this.#take(tls, headers);
  }

  #tls(ca: TlsOptions['ca'], cert: TlsOptions['cert'], key: TlsOptions['key']): TlsOptions {
    const { skipTLSVerify, tlsServerName } = this.#cluster;
    return {
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
      ...(skipTLSVerify && { rejectUnauthorized: false }),
      ...(tlsServerName && { servername: tlsServerName }),
    };
  }

  /** Keeps the endpoint, and with it the open connections, as long as the certificates are the same. */
  #take(tls: TlsOptions, headers: readonly string[]): CredentialSet {
    const fingerprint = JSON.stringify([tls.ca, tls.cert, tls.key].map((part) => part?.toString()));
    const endpoint = fingerprint === this.#fingerprint ? this.#current?.endpoint : undefined;
    const unchanged = endpoint !== undefined && sameTexts(headers, this.#current?.headers ?? []);
    if (!unchanged || this.#current === undefined) {
      this.#current = { endpoint: endpoint ?? this.#endpoint(tls), headers };
      this.#fingerprint = fingerprint;
    }
    return this.#current;
  }

  #endpoint(tls: TlsOptions): Endpoint {
    const { proxyUrl } = this.#cluster;
    return new Endpoint({ server: this.#server, tls, ...(proxyUrl && { proxy: new URL(proxyUrl) }) });
  }
}

/** Data wins over a file beside it, as in kubectl. */
function source(path: string | undefined, base64: string | undefined): Source {
  if (path && !base64) {
    const file = new CredentialFile(path);
    return (kept) => file.read(kept);
  }
  const data = base64 ? Buffer.from(base64, 'base64') : undefined;
  return async () => data;
}

/** The file wins over a token beside it, as long as it can be read. */
function tokenSource(user: User): Source {
  const read = source(tokenFileOf(user), undefined);
  if (!user.token) return read;
  return (kept) =>
    read(kept).catch((error: unknown) => {
      kept(error);
      return undefined;
    });
}

function authorization(
  user: User,
  bearer: Buffer | undefined,
  plugin: PluginCredentials | undefined,
): string[] {
  const token = bearer?.toString('utf8').trim() ?? user.token?.trim() ?? idTokenOf(user);
  if (token) return ['authorization', `Bearer ${token}`];
  if (plugin?.token !== undefined) return ['authorization', `Bearer ${plugin.token}`];
  if (!user.username) return [];
  const basic = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
  return ['authorization', `Basic ${basic}`];
}

function impersonation(user: CompleteUser): string[] {
  if (!user.impersonateUser) return [];
  const headers = ['impersonate-user', user.impersonateUser];
  if (user.impersonateUid !== undefined) headers.push('impersonate-uid', user.impersonateUid);
  for (const group of user.impersonateGroups ?? []) headers.push('impersonate-group', group);
  for (const [name, values] of Object.entries(user.impersonateExtra ?? {})) {
    for (const value of values) headers.push(`impersonate-extra-${encodeURIComponent(name)}`, value);
  }
  return headers;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
