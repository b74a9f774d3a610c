/** Control plane: a real etcd and API server on this machine, for the tests that a simulated cluster cannot answer. */

/** Options of {@link startControlPlane}: what runs beside etcd and the API server. */
export interface ControlPlaneOptions {
  /** Whether a controller manager runs: ServiceAccounts, garbage collection, Deployments. Default true. */
  readonly controllerManager?: boolean;
  /** Default true. */
  readonly scheduler?: boolean;
  /** More arguments for the API server; a repeated flag replaces an own one. */
  readonly apiServerArgs?: readonly string[];
  /** Gives up the start. */
  readonly signal?: AbortSignal;
}

/** A control plane that is ready for use. */
export interface ControlPlane {
  /** The path of the administrator's kubeconfig, for `loadKubeConfig({ env: { KUBECONFIG: … } })`. */
  readonly kubeconfig: string;
  /** As in https://127.0.0.1:23456. */
  readonly server: string;
  /** Runs kubectl as administrator and returns what it printed; rejects with what it complained about. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Kills the API server as a crash would: its connections break, its data stay. */
  stopApiServer(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Stops everything and removes its data. It also ends with this process. */
  stop(): Promise<void>;
}

/**
 * Starts etcd, API server, controller manager and scheduler on the loopback address; no root is needed. The programs
 * are those of the folder that KUBEBUILDER_ASSETS names; else they are built from Go modules, once, into
 * `~/.cache/atwatch`, which takes Go and minutes.
 *
 * @throws {Error} when a program is missing or dies.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const real = await import('../../local-cluster/control-plane.ts');
  return real.startControlPlane(options);
}
