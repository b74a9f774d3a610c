/**
 * Presence: what the API server itself says of whether it serves a resource. A 404 for the collection proves
 * nothing: a proxy may have sent it, or an API server that has just started and knows no CRD yet. Only its
 * discovery documents, from a server that is ready, do.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { CallOptions } from '../client/call-options.ts';
import type { Client } from '../client/client.ts';
import { groupVersionPath } from '../client/resource-path.ts';

/**
 * Absent: the group, or the resource in it, is not served. OtherVersion: the group is, but not in this version, so
 * the objects may well exist. Unknown: there was no answer that proves anything.
 */
export type Presence = 'served' | 'otherVersion' | 'absent' | 'unknown';

/** Milliseconds for each of the requests. */
const timeout = 5000;

/** Groups that the API server has without a CRD: no dot, or these below k8s.io, where CRDs need an approval. */
const builtIn =
  /^(?:[^.]*|[^.]+\.k8s\.io|rbac\.authorization\.k8s\.io|(?:flowcontrol|internal)\.apiserver\.k8s\.io)$/;

/** Whether the group is one of Kubernetes' own, none of which a cluster loses while it runs. */
export function isBuiltIn({ group }: Resource): boolean {
  return builtIn.test(group);
}

/**
 * Asks discovery whether the API server serves the resource, and believes only a server that is ready. Of an object of
 * a kind that is absent nothing is left, whatever a 404 for it proves. Rejects with the signal's reason only.
 */
export async function findPresence(
  client: Client,
  resource: Resource,
  signal: AbortSignal,
): Promise<Presence> {
  try {
    const options = { timeout, signal };
    // The lists of a server that is still starting are incomplete.
    if (!(await isReady(client, options))) return 'unknown';
    const presence = await discoveredPresence(client, resource, options);
    if (presence === 'served' || presence === 'unknown') return presence;
    // Behind a load balancer another server may have answered, or this one may have been started again meanwhile.
    return (await isReady(client, options)) ? presence : 'unknown';
  } catch {
    signal.throwIfAborted();
    return 'unknown';
  }
}

async function discoveredPresence(
  client: Client,
  resource: Resource,
  options: CallOptions,
): Promise<Presence> {
  const inGroups =
    resource.group === '' ? 'served' : presenceInGroups(await client.getRaw('/apis', options), resource);
  if (inGroups !== 'served') return inGroups;
  return presenceInResources(await client.getRaw(groupVersionPath(resource), options), resource);
}

async function isReady(client: Client, options: CallOptions): Promise<boolean> {
  const answer = await client.getRaw('/readyz', { ...options, text: true });
  return typeof answer === 'string' && answer.trim() === 'ok';
}

/** @param answer should be metav1.APIGroupList. */
function presenceInGroups(answer: unknown, { group, version }: Resource): Presence {
  if (!isJson(answer) || answer.kind !== 'APIGroupList' || !Array.isArray(answer.groups)) return 'unknown';
  const groups: readonly unknown[] = answer.groups;
  const found = groups.filter(isJson).find(({ name }) => name === group);
  if (found === undefined) return 'absent';
  if (!Array.isArray(found.versions)) return 'unknown';
  const versions: readonly unknown[] = found.versions;
  return versions.some((entry) => isJson(entry) && entry.version === version) ? 'served' : 'otherVersion';
}

/** @param answer should be metav1.APIResourceList. */
function presenceInResources(answer: unknown, { plural }: Resource): Presence {
  if (!isJson(answer) || answer.kind !== 'APIResourceList' || !Array.isArray(answer.resources))
    return 'unknown';
  const resources: readonly unknown[] = answer.resources;
  return resources.some((entry) => isJson(entry) && entry.name === plural) ? 'served' : 'absent';
}

function isJson(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
