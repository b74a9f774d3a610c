/** Server: whether the cluster answers, whether its clock is that of this machine, and whether it knows the kind. */
import type { Resource } from '../../kubernetes/objects.ts';
import { findServed } from '../../runtime/client/discovery.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { crds } from '../cluster/resources.ts';
import { saySpan } from '../time/span.ts';
import { bad, type Finding, ok, permitted, warn } from './finding.ts';

const install =
  'install atwatch: kubectl apply --server-side -k config/default, or helm install atwatch charts/atwatch';

export async function serverFindings({ client, clock, server }: Cluster): Promise<readonly Finding[]> {
  const { gitVersion = 'of an unknown version' } = (await client.getRaw('/version')) as {
    gitVersion?: string;
  };
  return [ok(`API server ${gitVersion} at ${server.origin}`), clockFinding(clock.skew)];
}

/** @param skew ms that this machine's clock is ahead. */
export function clockFinding(skew: number): Finding {
  if (Math.abs(skew) < 1000) return ok("this machine's clock agrees with the cluster's");
  const text = `this machine's clock is ${saySpan(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the cluster's`;
  return warn(text, "set the clock (NTP): commands run by the cluster's clock");
}

/** @param schema what this program knows of the kind; a CRD without some of its fields is older. */
export async function kindFinding(
  { client }: Cluster,
  resource: Resource,
  schema: Readonly<Record<string, unknown>>,
): Promise<Finding> {
  const served = await findServed(client, resource);
  const name = `${resource.kind} (${resource.group}/${resource.version})`;
  if (served === undefined) return bad(`the kind ${name} is not installed`, install);
  if (!served.status) {
    const remedy = 'kubectl apply --server-side -k crds puts the complete CRD back';
    return warn(`the CRD of ${name} is one without status`, remedy);
  }
  const crd = await permitted(client.get(crds, { name: `${resource.plural}.${resource.group}` }));
  const version = crd?.spec.versions.find(({ name }) => name === resource.version);
  const missing = version === undefined ? [] : missingFields(schema, version.schema?.openAPIV3Schema ?? {});
  if (missing.length === 0) return ok(`${name} is installed`);
  const text = `the CRD of ${name} is older than this program: it has no ${missing.join(', ')}`;
  return warn(text, 'kubectl apply --server-side -k crds brings it up to date');
}

type Schema = Readonly<Record<string, unknown>>;

/** Fields of spec and status that `installed` does not have, as paths. */
export function missingFields(own: Schema, installed: Schema): readonly string[] {
  return ['spec', 'status'].flatMap((part) => {
    const known = Object.keys(propertiesOf(propertiesOf(installed)[part]));
    return Object.keys(propertiesOf(propertiesOf(own)[part]))
      .filter((field) => !known.includes(field))
      .map((field) => `${part}.${field}`);
  });
}

function propertiesOf(schema: unknown): Schema {
  return ((schema as { properties?: Schema } | undefined)?.properties ?? {}) as Schema;
}
