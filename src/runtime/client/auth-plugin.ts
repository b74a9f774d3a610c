/**
 * Auth plugin: a kubeconfig user's exec command, OIDC refresh token or other auth provider, run by
 * client-node. What it yields is a header or a client certificate.
 */
import type { RequestOptions } from 'node:https';
import { KubeConfig, type User } from '@kubernetes/client-node';

export interface PluginCredentials {
  /** Of the Authorization header. */
  readonly authorization: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export class AuthPlugin {
  readonly #user: User;
  #config: KubeConfig;

  /** @param user one with `exec` or an `authProvider`. */
  constructor(user: User) {
    this.#user = user;
    this.#config = onlyPlugin(user);
  }

  /** Forgets what client-node has cached: the server refused it. */
  reset(): void {
    this.#config = onlyPlugin(this.#user);
  }

  async credentials(): Promise<PluginCredentials> {
    const options: RequestOptions = {};
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new Error(`no credentials for the kubeconfig user ${this.#user.name}: ${reasonOf(error)}`);
    }
    const authorization = Object.entries(options.headers ?? {}).find(
      ([name]) => name.toLowerCase() === 'authorization',
    );
    return {
      authorization: authorization === undefined ? undefined : String(authorization[1]),
      cert: textOf(options.cert),
      key: textOf(options.key),
    };
  }
}

/** Without files, which client-node would read with blocking calls, and with a server nobody asks. */
function onlyPlugin(user: User): KubeConfig {
  const { name, exec, authProvider } = user;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name, server: 'https://unused.invalid', skipTLSVerify: false },
    { name, exec, authProvider },
  );
  return config;
}

/**
 * The beginning of what the plugin said on its standard error. What it said on its standard output stays
 * out, and so does the error itself as a cause: a parser's error quotes what may be a token.
 */
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'what the plugin printed is not JSON';
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n', 1)[0]?.slice(0, 200) || 'the plugin failed without a message';
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}
