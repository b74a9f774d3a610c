/** Pod admission: what the API server says of Pods of a namespace, asked without storing any. */
import { pods } from '../../src/kubernetes/objects.ts';
import type { AtRig } from './at-rig.ts';

/** What it says against a Pod with nothing but a container, and this; empty: nothing. */
export function objection(
  { client, namespace }: Pick<AtRig, 'client' | 'namespace'>,
  spec: object = {},
): Promise<string> {
  const metadata = { namespace, name: 'probe' };
  const probe = { metadata, spec: { containers: [{ name: 'a', image: 'a' }], ...spec } };
  return client.create(pods, probe, { dryRun: true }).then(() => '', String);
}
