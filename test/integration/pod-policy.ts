/** Pod policy: an admission policy on the objects of one namespace, Pods above all, until the end of the test. */
import type { TestContext } from 'node:test';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';

type Policy = KubernetesObject & { readonly spec: object };

/** The parts of the policy and of its binding that differ. */
export interface PodPolicy {
  readonly verb: 'Mutating' | 'Validating';
  readonly policy: object;
  readonly binding?: object;
}

interface Place {
  readonly client: Client;
  readonly namespace: string;
}

/** Stores a policy on the Pods that are created there; it is in force a moment later. */
export function admitPodsBy(t: TestContext, place: Place, { policy, ...rest }: PodPolicy): Promise<void> {
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
  ];
  return admitBy(t, place, { ...rest, policy: { matchConstraints: { resourceRules }, ...policy } });
}

/** The same for the objects that the policy itself names. */
export async function admitBy(
  t: TestContext,
  { client, namespace }: Place,
  { verb, policy, binding }: PodPolicy,
): Promise<void> {
  const [policies, bindings] = [policyResource(verb, 'ies'), policyResource(verb, 'ybindings')];
  const metadata = { name: namespace };
  t.after(() => client.delete(bindings, metadata));
  t.after(() => client.delete(policies, metadata));
  await client.create(policies, { metadata, spec: { failurePolicy: 'Fail', ...policy } });
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  await client.create(bindings, {
    metadata,
    spec: { policyName: namespace, matchResources: { namespaceSelector }, ...binding },
  });
}

function policyResource(verb: PodPolicy['verb'], ending: 'ies' | 'ybindings'): Resource<Policy> {
  return {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    namespaced: false,
    plural: `${verb.toLowerCase()}admissionpolic${ending}`,
    kind: `${verb}AdmissionPolicy${ending === 'ies' ? '' : 'Binding'}`,
  };
}
