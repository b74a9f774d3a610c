/** Pod policy: an admission policy on the creation of Pods in the namespace of a rig, until the end of the test. */
import type { TestContext } from 'node:test';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { AtRig } from './at-rig.ts';

type Policy = KubernetesObject & { readonly spec: object };

/** The parts of the policy and of its binding that differ. */
export interface PodPolicy {
  readonly verb: 'Mutating' | 'Validating';
  readonly policy: object;
  readonly binding?: object;
}

/** Stores the policy; it is in force a moment later. */
export async function admitPodsBy(
  t: TestContext,
  { client, namespace }: AtRig,
  { verb, policy, binding }: PodPolicy,
): Promise<void> {
  const [policies, bindings] = [policyResource(verb, 'ies'), policyResource(verb, 'ybindings')];
  const metadata = { name: namespace };
  t.after(() => client.delete(bindings, metadata));
  t.after(() => client.delete(policies, metadata));
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
  ];
  await client.create(policies, {
    metadata,
    spec: { failurePolicy: 'Fail', matchConstraints: { resourceRules }, ...policy },
  });
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
