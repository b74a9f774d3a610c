/** Waivers: what linters say of our manifests that we do not follow, each with the reason. */
export interface Waiver {
  readonly linter: 'kube-score' | 'checkov';
  readonly check: string;
  /** `Kind name`; a file for what is no manifest. */
  readonly of: string;
  readonly because: string;
}

const operator = 'Deployment atwatch-controller-manager';
const noCpuLimit = 'a throttled operator makes Ats late; the request bounds what it takes from others';
const watched =
  'config/namespaced is an example for the namespace "default"; its comment says what to change';

export const waivers: readonly Waiver[] = [
  { linter: 'kube-score', check: 'container-resources', of: operator, because: noCpuLimit },
  { linter: 'checkov', check: 'CKV_K8S_11', of: operator, because: noCpuLimit },
  {
    ...{ linter: 'kube-score', check: 'container-image-pull-policy', of: operator },
    because:
      'a released image never changes, and with its registry away the operator shall start all the same',
  },
  {
    ...{ linter: 'kube-score', check: 'pod-networkpolicy', of: operator },
    because:
      'the API server’s address and port differ per cluster; docs/security.md has the egress policy to fill in',
  },
  {
    ...{ linter: 'kube-score', check: 'deployment-replicas', of: operator },
    because: 'its Service is for Prometheus alone; no client waits for an answer, so one replica will do',
  },
  {
    ...{ linter: 'checkov', check: 'CKV_K8S_38', of: operator },
    because: 'the token is how it speaks with the API server, which is all that it does',
  },
  { linter: 'checkov', check: 'CKV_K8S_21', of: 'Role atwatch-manager-role', because: watched },
  { linter: 'checkov', check: 'CKV_K8S_21', of: 'RoleBinding atwatch-manager-rolebinding', because: watched },
  {
    ...{ linter: 'checkov', check: 'CKV_K8S_21', because: watched },
    of: 'RoleBinding atwatch-workload-restarter-rolebinding',
  },
  {
    ...{ linter: 'checkov', check: 'CKV_DOCKER_2', of: 'Dockerfile' },
    because:
      'the kubelet’s probes ask for its health; Kubernetes ignores HEALTHCHECK, and the image has no shell',
  },
  {
    ...{ linter: 'checkov', check: 'CKV_DOCKER_7', of: 'Dockerfile' },
    because: 'it does not look into arguments: the base images are arguments, whose defaults name a version',
  },
];
