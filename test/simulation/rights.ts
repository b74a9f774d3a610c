/** Rights: what the shipped roles grant, each as `verb group/resource`. */
import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const root = new URL('../../config/', import.meta.url);

/** With every component: the simulated operator serves all there is. */
const roles = [
  'rbac/permissions/role.yaml',
  'rbac/leader_election_role.yaml',
  'policy/operator_updates.yaml',
];
const patches = [
  'secret-access/read_patch.yaml',
  'annotation-controller/rule_patch.yaml',
  'annotated-workloads/rule_patch.yaml',
  'secret-access/hash_key_patch.yaml',
  'author-check/rule_patch.yaml',
  'author-check/read_patch.yaml',
];

let known: ReadonlySet<string> | undefined;

export function grantedRights(): ReadonlySet<string> {
  known ??= readRights();
  return known;
}

function readRights(): Set<string> {
  const texts = (paths: readonly string[]) => paths.map((path) => readFileSync(new URL(path, root), 'utf8'));
  const rules = texts(roles).flatMap((text) =>
    parseAllDocuments(text).flatMap((document) => (document.toJS() as { rules?: Rule[] }).rules ?? []),
  );
  const added = texts(patches).flatMap((text) => valuesOf(parse(text)));
  return new Set([...rules, ...added].flatMap(rightsOf));
}

/** The rules that a JSON patch adds. */
function valuesOf(patch: readonly { readonly value?: Rule | readonly Rule[] }[]): Rule[] {
  return patch.flatMap(({ value }) => (value === undefined ? [] : value)) as Rule[];
}

function rightsOf({ apiGroups, resources, verbs }: Rule): string[] {
  return (apiGroups ?? []).flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
  );
}
