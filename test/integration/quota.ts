/** Quota: what a namespace of the tests may hold at most, in force. */
import type { ObjectKey } from '../../src/runtime/client/client.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import type { AtRig } from './at-rig.ts';
import { objection } from './pod-admission.ts';
import { eventually } from './support.ts';

/** Resolves once the quota controller has counted, and the API server, which follows it a moment later, refuses by that. */
export async function imposeQuota(
  { client, namespace }: Pick<AtRig, 'client' | 'namespace'>,
  hard: Readonly<Record<string, string>>,
  name = 'quota',
): Promise<ObjectKey> {
  const key = { namespace, name };
  await client.create(resourceQuotas, { metadata: key, spec: { hard } });
  await eventually(async () => 'hard' in ((await client.get(resourceQuotas, key)).status ?? {}), {
    message: `the quota ${name} is in force`,
  });
  // Of a quota that nothing has counted it says that its status is unknown.
  await eventually(async () => /(exceeded|failed) quota: /.test(await objection({ client, namespace })), {
    message: `Pods are refused by the quota ${name}`,
  });
  return key;
}
