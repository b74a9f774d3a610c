/**
 * Control plane: etcd, API server, controller manager and scheduler, for one test run or one demonstration.
 *
 * It needs no root, listens on loopback only and shares nothing with another one, so several run at once.
 * Its data lie in a temporary folder and are thrown away when it stops.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiProbe, createApiProbe } from './api-probe.ts';
import { prepareAudit } from './audit.ts';
import type { ClusterError } from './cluster-error.ts';
import { createPki, type Pki } from './cluster-pki.ts';
import { runKubectl } from './kubectl.ts';
import { freePort } from './ports.ts';
import { findPrograms, missingAbilities, type Programs } from './programs.ts';
import { Supervision } from './supervision.ts';

export interface ControlPlaneOptions {
  /** Whether a controller manager runs: ServiceAccounts, garbage collection, Deployments. Default true. */
  controllerManager?: boolean;
  /** Default true. */
  scheduler?: boolean;
  /** Whether every request is written to a file, see {@link ControlPlane.auditLog}. Default false. */
  auditLog?: boolean;
  /** More arguments for the API server; a repeated flag replaces the harness's own. */
  apiServerArgs?: readonly string[];
  /** Told of a component that dies later on, while the cluster is in use. */
  onDeath?: (error: ClusterError) => void;
  /** Gives up the start; what has been started is stopped. */
  signal?: AbortSignal | undefined;
}

export interface ControlPlane {
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** As in https://127.0.0.1:23456. */
  readonly server: string;
  /** The cluster's folder, with `logs/` in it. */
  readonly directory: string;
  /** The path of the audit log, one JSON object per line, if it was asked for. */
  readonly auditLog: string | undefined;
  /** Runs kubectl as administrator and returns what it printed; rejects with what it complained about. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Kills the API server as a crash would: its connections break, its data stay. */
  stopApiServer(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Lets the cluster live on when this process ends. */
  detach(): Promise<void>;
  /** Stops everything and removes {@link directory}. Idempotent. */
  stop(): Promise<void>;
}

/** In milliseconds; generous, for machines that do a lot of other things at once. */
const limits = { ready: 60_000, serviceAccount: 60_000 };

export const serviceRange = { cidr: '10.96.0.0/16', apiServer: '10.96.0.1' };

/**
 * Starts a control plane and returns when it is ready for use.
 *
 * @throws {ClusterError} when a program is missing or dies, or a limit is reached
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = await findPrograms(options.signal);
  for (let attempt = 1; ; attempt++) {
    const endpoint = { address: '127.0.0.1', port: await freePort() };
    const supervision = await Supervision.start(options);
    try {
      return await assemble(programs, supervision, options, endpoint);
    } catch (error) {
      // Between our look at the port and the API server's start another process may have taken it.
      if (attempt === portAttempts || !String(error).includes('address already in use')) {
        throw error;
      }
    }
  }
}

const portAttempts = 3;

/** Where the API server listens. */
export interface Endpoint {
  address: string;
  port: number;
}

/** The part that a control plane of its own and one with a node have in common. Stops everything if it fails. */
export async function assemble(
  programs: Programs,
  supervision: Supervision,
  options: ControlPlaneOptions,
  { address, port }: Endpoint,
): Promise<ControlPlane & { pki: Pki; probe: ApiProbe }> {
  const { directory } = supervision;
  const server = `https://${address}:${port}`;
  const pki = await createPki(directory, [...new Set(['127.0.0.1', serviceRange.apiServer, address])]);
  const kubeconfig = pki.writeKubeconfig('admin', server, pki.admin);
  const audit = options.auditLog === true ? prepareAudit(directory) : undefined;
  const probe = createApiProbe(server, pki);
  const apiServer = {
    name: 'kube-apiserver',
    command: programs.path('kube-apiserver'),
    args: [
      ...apiServerArgs(directory, pki, { address, port }),
      ...(audit?.args ?? []),
      ...(hasControllerManager(programs, options) ? [] : ['--disable-admission-plugins=ServiceAccount']),
      ...(options.apiServerArgs ?? []),
    ],
  };
  const startApiServer = async (signal?: AbortSignal) => {
    supervision.run(apiServer);
    await supervision.wait('the API server', limits.ready, () => probe.get('/readyz'), signal);
  };
  try {
    startEtcd(programs, supervision);
    await startApiServer(options.signal);
    await startControllers(programs, supervision, { options, pki, server, probe });
  } catch (error) {
    await supervision.stop();
    throw error;
  }
  return {
    kubeconfig,
    server,
    directory,
    auditLog: audit?.log,
    pki,
    probe,
    kubectl: (args, input) => runKubectl(programs.path('kubectl'), { kubeconfig, directory, args, input }),
    stopApiServer: () => supervision.kill('kube-apiserver'),
    startApiServer: () => startApiServer(),
    detach: () => supervision.detach(),
    stop: () => supervision.stop(),
  };
}

function hasControllerManager(
  programs: Programs,
  { controllerManager = true }: ControlPlaneOptions,
): boolean {
  return controllerManager && programs.has('kube-controller-manager');
}

/** etcd listens on sockets in its folder, so it needs no port and no other user of the machine can reach it. */
const etcdSocket = { client: 'client:1', peer: 'peer:1' };

function startEtcd(programs: Programs, supervision: Supervision): void {
  const cwd = join(supervision.directory, 'etcd');
  mkdirSync(cwd);
  supervision.run({
    name: 'etcd',
    command: programs.path('etcd'),
    cwd,
    args: [
      '--data-dir=data',
      // Data that are thrown away need not survive a power failure.
      '--unsafe-no-fsync',
      // A single member waits this long before it elects itself.
      '--heartbeat-interval=10',
      '--election-timeout=50',
      `--listen-client-urls=unix://${etcdSocket.client}`,
      `--advertise-client-urls=unix://${etcdSocket.client}`,
      `--listen-peer-urls=unix://${etcdSocket.peer}`,
      `--initial-advertise-peer-urls=unix://${etcdSocket.peer}`,
      `--initial-cluster=default=unix://${etcdSocket.peer}`,
    ],
  });
}

function apiServerArgs(directory: string, pki: Pki, { address, port }: Endpoint): string[] {
  return [
    `--etcd-servers=unix://${join(directory, 'etcd', etcdSocket.client)}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    // A loopback address cannot be the endpoint of the Service "kubernetes".
    ...(address === '127.0.0.1' ? ['--endpoint-reconciler-type=none'] : []),
    `--secure-port=${port}`,
    `--cert-dir=${join(directory, 'pki')}`,
    `--tls-cert-file=${pki.file('apiserver.crt')}`,
    `--tls-private-key-file=${pki.file('apiserver.key')}`,
    `--client-ca-file=${pki.file('ca.crt')}`,
    `--kubelet-client-certificate=${pki.file('admin.crt')}`,
    `--kubelet-client-key=${pki.file('admin.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki.file('service-accounts.pub')}`,
    `--service-account-signing-key-file=${pki.file('service-accounts.key')}`,
    `--service-cluster-ip-range=${serviceRange.cidr}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
  ];
}

interface Surroundings {
  options: ControlPlaneOptions;
  pki: Pki;
  server: string;
  probe: ApiProbe;
}

/** Started once the API server is ready, because before that they wait in steps of a second. */
async function startControllers(
  programs: Programs,
  supervision: Supervision,
  { options, pki, server, probe }: Surroundings,
): Promise<void> {
  const missing = missingAbilities(programs);
  if (missing !== undefined) {
    console.error(missing);
  }
  const start = async (name: string, args: readonly string[]) => {
    const user = await pki.issue(name, { name: `system:${name}` });
    const kubeconfig = pki.writeKubeconfig(name, server, user);
    const common = [`--kubeconfig=${kubeconfig}`, '--secure-port=0', '--leader-elect=false'];
    supervision.run({ name, command: programs.path(name), args: [...common, ...args] });
  };
  if (options.scheduler !== false && programs.has('kube-scheduler')) {
    await start('kube-scheduler', []);
  }
  if (hasControllerManager(programs, options)) {
    await start('kube-controller-manager', [
      `--service-account-private-key-file=${pki.file('service-accounts.key')}`,
      `--root-ca-file=${pki.file('ca.crt')}`,
      `--cluster-signing-cert-file=${pki.file('ca.crt')}`,
      `--cluster-signing-key-file=${pki.file('ca.key')}`,
      '--use-service-account-credentials',
      // Its own limit of 20 requests a second stretches the start, in which each controller gets a ServiceAccount.
      '--kube-api-qps=500',
      '--kube-api-burst=500',
    ]);
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    // Without it the API server refuses every Pod.
    await supervision.wait(
      'the default ServiceAccount',
      limits.serviceAccount,
      () => probe.get(path),
      options.signal,
    );
  }
}
