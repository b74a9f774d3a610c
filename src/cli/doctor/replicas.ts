/** Replicas: whether an operator runs, leads, and serves the namespace. */
import {
  type Container,
  type KubernetesObject,
  type Pod,
  pods,
  type Resource,
} from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { holderOf, type Lease, leases } from '../../runtime/leader/lease.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { saySpan } from '../time/span.ts';
import { bad, type Finding, ok, permitted, unknown, warn } from './finding.ts';

/** Where manifests and chart put it. */
const usualNamespace = 'atwatch-system';
const leaseName = 'atwatch';
const podLabels = 'app.kubernetes.io/name=atwatch,role=operator';
/** A renewal may be so late before another replica takes over, seconds. */
const usualLeaseSeconds = 15;

const start = 'start it: kubectl -n atwatch-system get deployments,pods shows why it is not there';

/** An object that an operator takes notice of. */
interface Observable extends KubernetesObject {
  readonly status?: { readonly observedGeneration?: number };
}

/** @param kind whose objects tell of an operator that has neither Lease nor Pod. */
export async function operatorFindings<T extends Observable>(
  cluster: Cluster,
  kind: Resource<T>,
): Promise<readonly Finding[]> {
  const [replicas, held] = await Promise.all([operatorPods(cluster), operatorLeases(cluster)]);
  if (replicas === undefined && held === undefined) {
    return [unknown('you may not see the Pods and the Lease of the operator: ask who runs it')];
  }
  const now = cluster.clock.now();
  const leading = (held ?? []).map((lease) => leaseFinding(lease, now));
  const running = (replicas ?? []).map(podFinding);
  if (leading.length + running.length === 0) {
    const { namespace } = cluster;
    const seen = await permitted(cluster.client.list(kind, { namespace }));
    const isObserved = seen?.items.some(({ status }) => (status?.observedGeneration ?? -1) >= 0) === true;
    return [missingFinding(isObserved, namespace)];
  }
  const served = (replicas ?? []).map(servedNamespaces);
  return [
    ...leading,
    ...running,
    ...(served[0] === undefined ? [] : [servedFinding(served[0], cluster.namespace)]),
  ];
}

/**
 * Outside of the cluster and without leader election an operator leaves no trace but in the objects that it serves.
 *
 * @param isObserved one has taken notice of an object in the namespace.
 */
export function missingFinding(isObserved: boolean, namespace: string): Finding {
  const text = 'no operator was found: no Lease "atwatch", and no Pod with its labels';
  const outside = 'if it runs outside of the cluster';
  return isObserved
    ? warn(text, `${outside}, this is no problem; otherwise ${start}`)
    : bad(
        `${text}, and none has seen an object in ${namespace}`,
        `${start}; ${outside}, create one and ask again`,
      );
}

/** Of all namespaces, or of the usual one where only that may be seen. */
async function operatorPods({ client }: Cluster): Promise<readonly Pod[] | undefined> {
  const labelSelector = podLabels;
  const found =
    (await permitted(client.list(pods, { labelSelector }))) ??
    (await permitted(client.list(pods, { labelSelector, namespace: usualNamespace })));
  return found?.items;
}

async function operatorLeases({ client }: Cluster): Promise<readonly Lease[] | undefined> {
  const found = await permitted(client.list(leases, { fieldSelector: `metadata.name=${leaseName}` }));
  if (found !== undefined) return found.items;
  const lease = await permitted(client.get(leases, { namespace: usualNamespace, name: leaseName }));
  return lease && [lease];
}

/** @param now epoch ms, of the API server. */
export function leaseFinding(lease: Lease, now: number): Finding {
  const { namespace = '' } = lease.metadata;
  const { renewTime = '', acquireTime = '', leaseDurationSeconds = usualLeaseSeconds } = lease.spec ?? {};
  const holder = holderOf(lease);
  const logs = `kubectl -n ${namespace} logs -l role=operator --tail=20 says why`;
  if (holder === '') return bad(`no operator leads: the Lease in ${namespace} was given back`, start);
  const age = now - parseTime(renewTime);
  const renewed = `renewed its Lease ${saySpan(Math.max(0, age))} ago`;
  if (!(age <= leaseDurationSeconds * 1000)) {
    return bad(`no operator leads: ${holder} in ${namespace} last ${renewed}`, `${start}; ${logs}`);
  }
  const since = saySpan(Math.max(0, now - parseTime(acquireTime)));
  return ok(`the operator ${holder} in ${namespace} has led for ${since}, and ${renewed}`);
}

export function podFinding({ metadata, spec, status }: Pod): Finding {
  const { namespace = '', name } = metadata;
  const { image = '' } = operatorContainer(spec.containers) ?? {};
  const isReady =
    status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  const restarts = (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  const text = `the operator's Pod ${namespace}/${name} is ${isReady ? 'ready' : 'not ready'}, image ${image}, ${restarts} restarts`;
  return isReady ? ok(text) : bad(text, `kubectl -n ${namespace} describe pod ${name} says why`);
}

function operatorContainer(containers: readonly Container[]): Container | undefined {
  return containers.find(({ name }) => name === 'config-watcher') ?? containers[0];
}

/** Empty: all of them. By the flag, which wins, or the variables. */
export function servedNamespaces({ spec }: Pod): readonly string[] {
  const { args = [], env = [] } = operatorContainer(spec.containers) ?? {};
  const flag = args.findLast((word) => word.startsWith('--namespaces='))?.slice('--namespaces='.length);
  const variables = ['ATWATCH_NAMESPACES', 'WATCH_NAMESPACE'].map(
    (name) => env.find((variable) => variable.name === name)?.value,
  );
  const value = flag ?? variables.find((value) => value !== undefined && value !== '') ?? '';
  return value.split(',').filter((name) => name !== '');
}

export function servedFinding(served: readonly string[], namespace: string): Finding {
  if (served.length === 0) return ok('it serves all namespaces');
  if (served.includes(namespace))
    return ok(`it serves ${namespace}, with ${served.length} namespaces in all`);
  return bad(
    `it serves ${served.join(', ')} only, not ${namespace}`,
    `add ${namespace} to its WATCH_NAMESPACE (value "namespaces" of the chart), with the rights there`,
  );
}
