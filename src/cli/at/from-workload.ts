/**
 * From workload: the template of an At that runs in the surroundings of a workload: its image, environment, volumes
 * and ServiceAccount, and what those need. Labels stay behind, so that no Service sends requests to the Pod.
 */
import type { AtSpecTemplate } from '../../api/at.generated.ts';
import { type Container, type PodSpec, pods } from '../../kubernetes/objects.ts';
import { isNotFound } from '../../runtime/client/api-error.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { cronJobs, type PodTemplate, workloads } from '../cluster/resources.ts';
import { Failure, UsageError } from '../program/exit.ts';

const defaultContainer = 'kubectl.kubernetes.io/default-container';

type Json = Readonly<Record<string, unknown>>;

const containerFields = [
  'name',
  'image',
  'imagePullPolicy',
  'env',
  'envFrom',
  'volumeMounts',
  'workingDir',
  'securityContext',
];
const podFields = [
  'serviceAccountName',
  'automountServiceAccountToken',
  'imagePullSecrets',
  'securityContext',
  'nodeSelector',
  'tolerations',
  'affinity',
  'runtimeClassName',
  'dnsPolicy',
  'dnsConfig',
  'hostAliases',
];

/** @param reference `deploy/web`. @throws {Failure} @throws {UsageError} */
export async function readTemplate(
  { client, namespace }: Pick<Cluster, 'client' | 'namespace'>,
  reference: string,
): Promise<PodTemplate> {
  const [typed = '', name = '', more] = reference.split('/');
  const kind = kindOf(typed);
  const key = { namespace, name };
  if (name === '' || more !== undefined) {
    throw new UsageError(`--from is KIND/NAME such as deploy/web, not "${reference}"`);
  }
  try {
    if (kind === 'pod' || kind === 'po') return await client.get(pods, key);
    if (kind === 'cronjob' || kind === 'cj') {
      return (await client.get(cronJobs, key)).spec.jobTemplate.spec.template;
    }
    const resource = workloads[kind];
    if (resource === undefined) {
      const known = 'deploy, sts, ds, rs, job, cronjob or pod';
      throw new UsageError(`--from takes ${known}, not "${typed}"`);
    }
    return (await client.get(resource, key)).spec.template;
  } catch (error) {
    if (isNotFound(error)) throw new Failure(`there is no ${typed} "${name}" in the namespace ${namespace}`);
    throw error;
  }
}

/** Plurals count, too, and names with a group, as kubectl itself prints them. */
function kindOf(typed: string): string {
  const name = typed.toLowerCase().replace(/\..*$/, '');
  return Object.hasOwn(workloads, name) ? name : name.replace(/s$/, '');
}

/** @param container undefined: the one that kubectl takes, which is the first unless an annotation says so. */
export function templateFrom({ metadata, spec }: PodTemplate, container: string | undefined): AtSpecTemplate {
  const wanted = container ?? metadata?.annotations?.[defaultContainer];
  const known = spec.containers.map(({ name }) => name);
  const main = spec.containers.find(({ name }) => name === wanted);
  if (main === undefined && container !== undefined) {
    throw new Failure(`there is no container "${container}", but ${known.join(', ')}`);
  }
  const source = main ?? spec.containers[0];
  if (source === undefined) throw new Failure('the workload has no container');
  return { spec: { ...podPart(spec, source), containers: [picked(source, containerFields)] } };
}

function podPart(spec: PodSpec, main: Container): Json {
  const mounts = (main as { volumeMounts?: readonly { readonly name: string }[] }).volumeMounts ?? [];
  const volumes = (spec.volumes ?? []).filter(({ name }) => mounts.some((mount) => mount.name === name));
  const { serviceAccountName } = spec as { serviceAccountName?: string };
  return {
    // An At's Pod has no token by default; a workload with a ServiceAccount of its own expects one.
    ...(serviceAccountName !== undefined && { automountServiceAccountToken: true }),
    ...picked(spec, podFields),
    ...(volumes.length > 0 && { volumes }),
  };
}

function picked(object: object, fields: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([field]) => fields.includes(field)));
}
