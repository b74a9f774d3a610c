/** What the chart's tests look at in the objects that it renders. */
import { parseCommandLine } from '../../src/config.ts';
import { find, type Rendered } from './helm.ts';

export type Look = (objects: readonly Rendered[]) => unknown;

export const pod = (objects: readonly Rendered[]) => find(objects, 'Deployment').spec.template;
export const container = (objects: readonly Rendered[]) => pod(objects).spec.containers[0];
export const image: Look = (objects) => container(objects).image;
export const names = (objects: readonly Rendered[], ...kinds: readonly string[]) =>
  objects
    .filter(({ kind = '' }) => kinds.includes(kind))
    .map(
      ({ kind, metadata: { name, namespace } }) =>
        `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    )
    .sort();
const rules = (objects: readonly Rendered[], kind = 'ClusterRole') =>
  find(objects, kind, '-manager-role').rules;
export const rightsOn = (objects: readonly Rendered[], group: string, resource: string): string[] =>
  rules(objects)
    .filter(({ apiGroups, resources }: Rendered) => apiGroups.includes(group) && resources.includes(resource))
    .flatMap(({ verbs }: Rendered) => verbs)
    .sort();
export const identity = (objects: readonly Rendered[]) =>
  find(objects, 'ClusterRoleBinding', '-operator-identity');
/** How the operator itself understands its flags and environment. */
export const config = (objects: readonly Rendered[]) => {
  const { args, env } = container(objects);
  const values = Object.fromEntries(env.map(({ name, value }: Rendered) => [name, value]));
  const line = parseCommandLine(args, values);
  return line.command === 'run' ? line.config : undefined;
};
