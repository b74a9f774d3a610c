/**
 * Exec plugin: the command of a kubeconfig user that prints credentials, as an ExecCredential of
 * client.authentication.k8s.io. KUBERNETES_EXEC_INFO describes what it is run for, and it has no standard input:
 * no person is there to answer its questions.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../clock.ts';

/** `exec` of a kubeconfig user. */
export interface ExecConfig {
  readonly apiVersion?: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  /** Says how to get a command that is missing. */
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
}

export interface PluginCredentials {
  readonly token: string | undefined;
  /** PEM. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface ExecPluginOptions {
  /** Name of the kubeconfig user, for messages. */
  readonly user: string;
  readonly exec: ExecConfig;
  /** Environment of the command; that of its `exec.env` is added. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Characters of a plugin's message. */
const maxReasonLength = 200;

export class ExecPlugin {
  readonly #options: ExecPluginOptions;
  #child: ChildProcess | undefined;
  #cached: PluginCredentials | undefined;
  /** Wall clock, epoch ms. */
  #expiresAt = Number.POSITIVE_INFINITY;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  /** Forgets what the plugin gave: the server refused it. */
  reset(): void {
    this.#cached = undefined;
  }

  /**
   * What the plugin gave the last time, or gives now when that has expired.
   *
   * @param cluster what a plugin with `provideClusterInfo` gets about the cluster.
   * @throws {Error} in whose message nothing is quoted of what the plugin printed on its standard output.
   */
  async credentials(cluster: object): Promise<PluginCredentials> {
    const { user, clock } = this.#options;
    if (this.#cached !== undefined && this.#expiresAt > clock.now()) return this.#cached;
    try {
      const output = await this.#run(cluster);
      const { credentials, expiresAt } = credentialsOf(output);
      this.#cached = credentials;
      this.#expiresAt = expiresAt;
      return credentials;
    } catch (error) {
      throw new Error(`no credentials for the kubeconfig user ${user}: ${reasonOf(error)}`);
    }
  }

  #run(cluster: object): Promise<string> {
    const { exec, environment } = this.#options;
    // One that hangs is not needed any more.
    this.#child?.kill('SIGKILL');
    const extra = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
    const info = JSON.stringify({
      kind: 'ExecCredential',
      apiVersion: exec.apiVersion ?? 'client.authentication.k8s.io/v1',
      spec: { ...(exec.provideClusterInfo && { cluster }), interactive: false },
    });
    const env = { ...environment, ...extra, KUBERNETES_EXEC_INFO: info };
    const child = spawn(exec.command, exec.args ?? [], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    return new Promise((resolve, reject) => {
      const output: Buffer[] = [];
      const complaint: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk));
      child.once('error', (error) => reject(isMissing(error) ? notInstalled(exec) : error));
      child.once('close', (code, signal) => {
        if (this.#child === child) this.#child = undefined;
        if (code === 0) resolve(Buffer.concat(output).toString('utf8'));
        else reject(new Error(text(complaint) || `${exec.command} ended with ${code ?? signal}`));
      });
    });
  }
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8').trim();
}

function isMissing(error: Error): boolean {
  return 'code' in error && error.code === 'ENOENT';
}

function notInstalled({ command, installHint = '' }: ExecConfig): Error {
  const [hint = ''] = installHint.trim().split('\n', 1);
  return new Error(`the plugin ${command} is not installed${hint === '' ? '' : `: ${hint}`}`);
}

interface ExecCredential {
  readonly kind?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  } | null;
}

function credentialsOf(output: string): { credentials: PluginCredentials; expiresAt: number } {
  const credential = parse(output);
  if (credential?.kind !== 'ExecCredential') throw new Error('what the plugin printed is no ExecCredential');
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = credential.status ?? {};
  const [cert, key] = [textOf(clientCertificateData), textOf(clientKeyData)];
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error('the plugin gave a client certificate without its key, or a key without its certificate');
  }
  const credentials = { token: textOf(token), cert, key };
  if (credentials.token === undefined && cert === undefined)
    throw new Error('the plugin gave no credentials');
  if (expirationTimestamp === undefined) return { credentials, expiresAt: Number.POSITIVE_INFINITY };
  const expiresAt = Date.parse(String(expirationTimestamp));
  // A time that cannot be read is over: the plugin is asked again when the credentials are a minute old.
  return { credentials, expiresAt: Number.isNaN(expiresAt) ? 0 : expiresAt };
}

/** Without the parser's error, which quotes what may be a token. */
function parse(output: string): ExecCredential | null {
  try {
    return JSON.parse(output);
  } catch {
    throw new Error('what the plugin printed is not JSON');
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The beginning of the plugin's standard error. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().split('\n', 1)[0]?.slice(0, maxReasonLength) || 'the plugin failed without a message';
}
