/**
 * Node configuration: the files that containerd, CNI and kubelet read.
 */
import { pauseImage } from './images.ts';

/** The port of the registry on the node's loopback. */
export const registryPort = 5000;

export interface NodePaths {
  /** The cluster's folder. */
  directory: string;
  /** The folder of the CNI plugins. */
  cni: string;
}

/** All of containerd's folders are the cluster's own; it must change nothing of the machine. */
export function containerdConfig({ directory, cni }: NodePaths): string {
  return `version = 2
root = "${directory}/containerd/root"
state = "${directory}/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "${containerdSocket(directory)}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${directory}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # A process without the capability SYS_RESOURCE cannot give a sandbox a better OOM score than its own.
  restrict_oom_score_adj = true
  # Loading a profile would change the machine's kernel.
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${directory}/containerd/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cni}"
    conf_dir = "${directory}/cni"
`;
}

export function containerdSocket(directory: string): string {
  return `${directory}/containerd/containerd.sock`;
}

/** For every registry: ask ours, and never the one that the image's name speaks of. */
export const registryHosts = `server = "http://127.0.0.1:${registryPort}"
[host."http://127.0.0.1:${registryPort}"]
  capabilities = ["pull", "resolve"]
`;

export function cniConfig(pods: string): string {
  const bridge = {
    type: 'bridge',
    bridge: 'cni0',
    isGateway: true,
    ipMasq: true,
    hairpinMode: true,
    ipam: { type: 'host-local', ranges: [[{ subnet: pods }]], routes: [{ dst: '0.0.0.0/0' }] },
  };
  const portmap = { type: 'portmap', capabilities: { portMappings: true } };
  return JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins: [bridge, portmap] });
}

export interface KubeletParts {
  directory: string;
  /** The control group under which the Pods' groups are made. */
  cgroup: string;
  /** The path of a file of the PKI. */
  pki: (name: string) => string;
}

/** JSON is YAML. */
export function kubeletConfig({ directory, cgroup, pki }: KubeletParts): string {
  return JSON.stringify(
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: pki('ca.crt') },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: pki('kubelet.crt'),
      tlsPrivateKeyFile: pki('kubelet.key'),
      containerRuntimeEndpoint: `unix://${containerdSocket(directory)}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${cgroup}`,
      failCgroupV1: false,
      failSwapOn: false,
      // The registry is on the node itself. A pull that the default of five a second refuses counts as a failed start, which
      // doubles the back-off of a container that crashes.
      registryPullQPS: 0,
      makeIPTablesUtilChains: false,
      volumePluginDir: `${directory}/kubelet-plugins`,
      podLogsDir: `${directory}/pod-logs`,
      resolvConf: `${directory}/resolv.conf`,
      clusterDomain: 'cluster.local',
      // There is no name service: a look-up fails at once, in the Pod itself.
      clusterDNS: ['127.0.0.1'],
      // The machine's disk may be as full as its owner likes.
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      maxPods: 250,
      nodeStatusUpdateFrequency: '5s',
    },
    undefined,
    2,
  );
}
