/**
 * What the runtime takes of a KubeConfig. The package carries the class of `@kubernetes/client-node` in its code, without
 * the 65 MB around it; a KubeConfig of that package itself is one of these, too.
 */

/** A cluster of a kubeconfig. */
export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly skipTLSVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

/** A user of a kubeconfig. */
export interface User {
  readonly name: string;
  readonly certData?: string;
  readonly certFile?: string;
  readonly exec?: unknown;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly authProvider?: unknown;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
}

/** A context of a kubeconfig. */
export interface Context {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

/** Which clusters, users and contexts there are, and which context is the current one. */
export interface KubeConfig {
  readonly clusters: Cluster[];
  readonly users: User[];
  readonly contexts: Context[];
  getCurrentContext(): string;
  setCurrentContext(context: string): void;
  getContextObject(name: string): Context | null;
  getCurrentCluster(): Cluster | null;
  getCurrentUser(): User | null;
}
