/**
 * Discovery of a simulated API server: its version, its groups and what each of them serves.
 */
import { type Failure, PageNotFound, unknownResource } from './failure.ts';
import type { ServedResource } from './served-resource.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Of Kubernetes: whose words and defaults the answers have. */
export const simulatedVersion = { major: '1', minor: '36', gitVersion: 'v1.36.0-simulated' } as const;

/** Path to answer, by what is served. */
const known = new WeakMap<readonly ServedResource[], Map<string, string | Failure>>();

/**
 * What a path that is none of a resource is answered with. A Failure for one that is nothing is returned: it is asked for
 * each minute, and to throw it costs more than all else of the answer.
 */
export function discovery(path: string, resources: readonly ServedResource[]): string | Failure {
  let answers = known.get(resources);
  if (answers === undefined) {
    answers = new Map();
    known.set(resources, answers);
  }
  let answer = answers.get(path);
  if (answer === undefined) {
    answer = answerOf(path, resources) ?? notServed(path, resources);
    answers.set(path, answer);
  }
  return answer;
}

function answerOf(path: string, resources: readonly ServedResource[]): string | undefined {
  switch (path) {
    case '/version':
      return JSON.stringify(simulatedVersion);
    case '/readyz':
    case '/livez':
    case '/healthz':
      return 'ok';
    case '/api':
      return JSON.stringify({ kind: 'APIVersions', versions: ['v1'] });
    case '/apis':
      return JSON.stringify({ kind: 'APIGroupList', apiVersion: 'v1', groups: groupsOf(resources) });
    default:
      return groupOf(path, resources) ?? resourceList(path, resources);
  }
}

interface Group {
  readonly name: string;
  readonly versions: readonly object[];
  readonly preferredVersion: object | undefined;
}

function groupsOf(resources: readonly ServedResource[]): Group[] {
  const groups = new Map<string, Set<string>>();
  for (const { group, version } of resources) {
    if (group === '') continue;
    groups.set(group, (groups.get(group) ?? new Set()).add(version));
  }
  return [...groups].map(([name, served]) => {
    const versions = [...served].map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions, preferredVersion: versions[0] };
  });
}

/** Undefined for a path that is none of a group. */
function groupOf(path: string, resources: readonly ServedResource[]): string | undefined {
  const [, root, name, ...more] = path.split('/');
  if (root !== 'apis' || more.length > 0) return undefined;
  const group = groupsOf(resources).find((other) => other.name === name);
  return group && JSON.stringify({ kind: 'APIGroup', apiVersion: 'v1', ...group });
}

function resourceList(path: string, resources: readonly ServedResource[]): string | undefined {
  const [, root, ...rest] = path.split('/');
  const [group, version, ...more] = root === 'api' ? ['', ...rest] : rest;
  const served = resources.filter((resource) => resource.group === group && resource.version === version);
  if (!(root === 'api' || root === 'apis') || more.length > 0 || served.length === 0) return undefined;
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const list = {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: served.flatMap(entries),
  };
  return JSON.stringify(list);
}

/** Below a group that the server is built with the answer is a Status, elsewhere plain text. */
function notServed(path: string, resources: readonly ServedResource[]): Failure {
  const [, root, group = ''] = path.split('/');
  const isBuiltIn = resources.some((resource) => resource.group === group && resource.typedItems !== true);
  return root === 'api' || (root === 'apis' && isBuiltIn) ? unknownResource() : new PageNotFound();
}

function entries(resource: ServedResource): object[] {
  const { plural, kind, namespaced, status, isStored = true, subresources = [] } = resource;
  const named = { name: plural, singularName: kind.toLowerCase(), namespaced, kind };
  const entry = { ...named, verbs: isStored ? verbs : ['create'] };
  const names = status === false ? subresources : ['status', ...subresources];
  return [
    entry,
    ...names.map((name) => ({
      ...entry,
      name: `${plural}/${name}`,
      singularName: '',
      verbs: ['get', 'patch', 'update'],
    })),
  ];
}
