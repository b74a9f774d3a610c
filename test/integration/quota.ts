/** Quota: what a namespace of the tests may hold at most, in force. */
import type { ObjectKey } from '../../src/runtime/client/client.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import type { AtRig } from './at-rig.ts';
import { eventually } from './support.ts';

/** Resolves once the quota controller has counted, which is when the API server begins to refuse. */
export async function imposeQuota(
  { client, namespace }: AtRig,
  hard: Readonly<Record<string, string>>,
  name = 'quota',
): Promise<ObjectKey> {
  const key = { namespace, name };
  await client.create(resourceQuotas, { metadata: key, spec: { hard } });
  await eventually(async () => 'hard' in ((await client.get(resourceQuotas, key)).status ?? {}), {
    message: `the quota ${name} is in force`,
  });
  return key;
}
