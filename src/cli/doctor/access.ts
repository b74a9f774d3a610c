/** Access: which policies guard the operator, and what the person may do. */
import type { Cluster } from '../cluster/cluster.ts';
import { type PolicyBinding, policyBindings, selfAccessReviews } from '../cluster/resources.ts';
import { bad, type Finding, ok, permitted, unknown, warn } from './finding.ts';

/** The policies of config/policy without their prefix, and what is open without each. */
const policies = {
  requester: 'a user who may create Ats or ConfigWatchers needs no right on Pods',
  'operator-identity': "any Pod may run under the operator's ServiceAccount",
  'operator-pods': "with the operator's token any Pod can be created",
  'operator-updates': "with the operator's token Pods and workloads can be changed at will",
};

export async function policyFindings({ client }: Cluster): Promise<readonly Finding[]> {
  const bindings = await permitted(client.list(policyBindings));
  return bindings === undefined
    ? [unknown('you may not see the admission policies')]
    : policyVerdicts(bindings.items);
}

export function policyVerdicts(bindings: readonly PolicyBinding[]): readonly Finding[] {
  const isBound = (name: string) =>
    bindings.some(
      ({ spec }) =>
        new RegExp(`(^|-)${name}$`).test(spec.policyName) && spec.validationActions?.includes('Deny'),
    );
  const names = Object.keys(policies) as (keyof typeof policies)[];
  const missing = names.filter((name) => !isBound(name));
  if (missing.length === 0) return [ok(`the policies ${names.join(', ')} are in force`)];
  const remedy = 'install them with config/default or the chart: see docs/security.md';
  return missing.map((name, index): Finding => {
    const text = `the policy ${name} is not in force: ${policies[name]}`;
    return index < missing.length - 1 ? { verdict: 'warn', text } : warn(text, remedy);
  });
}

/** Something that a command needs to do. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource: `pods/log`. */
  readonly resource: string;
  /** What does not work without it. */
  readonly for: string;
}

export async function rightsFindings(
  cluster: Cluster,
  rights: readonly Right[],
): Promise<readonly Finding[]> {
  const answers = await Promise.all(rights.map((right) => isAllowed(cluster, right)));
  const missing = rights.filter((_, index) => !answers[index]);
  const { namespace } = cluster;
  if (missing.length === 0) return [ok(`you have all rights that are needed in ${namespace}`)];
  return missing.map((right) =>
    bad(
      `you may not ${right.verb} ${right.resource} in ${namespace}: ${right.for}`,
      'ask for a RoleBinding to the ClusterRole edit there, which the operator adds its kinds to',
    ),
  );
}

async function isAllowed(
  { client, namespace }: Cluster,
  { verb, group, resource: full }: Right,
): Promise<boolean> {
  const [resource = '', subresource] = full.split('/');
  const attributes = { namespace, verb, group, resource, ...(subresource !== undefined && { subresource }) };
  const review = { metadata: { name: '' }, spec: { resourceAttributes: attributes } };
  return (await client.create(selfAccessReviews, review)).status?.allowed === true;
}
