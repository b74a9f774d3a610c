/** Pod admission: what the API server says of Pods of a namespace, asked without storing any. */
import { pods } from '../../src/kubernetes/objects.ts';
import type { AtRig } from './at-rig.ts';

/** What it says against a plain Pod; empty: nothing. */
export function objection({ client, namespace }: Pick<AtRig, 'client' | 'namespace'>): Promise<string> {
  const probe = { metadata: { namespace, name: 'probe' }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  return client.create(pods, probe, { dryRun: true }).then(() => '', String);
}
