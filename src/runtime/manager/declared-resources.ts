/**
 * Declared resources: whether the API server has the kinds as the program says. A wrong kind or scope would show as
 * answers that are none, and a missing status subresource as a status that is dropped without a word.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { Client } from '../client/client.ts';
import { discover, type ServedResource } from '../client/discovery.ts';
import { ManagerError } from './manager-error.ts';

const callTimeout = 5000;

/**
 * A resource that is not served, and a discovery that cannot be had, are left to the informers, which wait for them.
 *
 * @throws {ManagerError} with one sentence for all that is wrong. Rejects with the signal's reason when that is aborted.
 */
export async function assertDeclared(
  client: Client,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<void> {
  const byGroupVersion = new Map<string, Resource[]>();
  for (const resource of resources) {
    const key = `${resource.group}/${resource.version}`;
    byGroupVersion.set(key, [...(byGroupVersion.get(key) ?? []), resource]);
  }
  const checks = Array.from(byGroupVersion.values(), async (ofGroup) => {
    const [{ group, version } = { group: '', version: '' }] = ofGroup;
    const options = { signal, timeout: callTimeout };
    const served = await discover(client, { group, version }, options).catch(() => undefined);
    return ofGroup.flatMap((resource) => mistakesOf(resource, served?.get(resource.plural)));
  });
  const mistakes = new Set((await Promise.all(checks)).flat());
  signal.throwIfAborted();
  if (mistakes.size > 0) throw new ManagerError([...mistakes].join('; '));
}

function mistakesOf(declared: Resource, served: ServedResource | undefined): string[] {
  if (served === undefined) return [];
  const { group, plural, version } = declared;
  const name = `${group === '' ? plural : `${plural}.${group}`} (${version})`;
  const mistakes: string[] = [];
  if (declared.kind !== served.kind) {
    mistakes.push(
      `${name} has the kind ${served.kind} on the API server, and is declared as ${declared.kind}`,
    );
  }
  if (declared.namespaced !== served.namespaced) {
    const [is, said] = served.namespaced
      ? ['namespaced', 'cluster-scoped']
      : ['cluster-scoped', 'namespaced'];
    mistakes.push(`${name} is ${is} on the API server, and is declared as ${said}`);
  }
  if (declared.status === true && !served.status) {
    mistakes.push(
      `${name} has no status subresource on the API server; add it to the CustomResourceDefinition`,
    );
  }
  return mistakes;
}
