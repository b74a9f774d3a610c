/** API documents: what discovery and OpenAPI v3 say of each version of each group that an API server serves. */

/** A schema of OpenAPI v3, as far as Kubernetes uses it. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-group-version-kind'?: readonly object[];
}

/** A resource by which objects are read or written; no subresource. */
export interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface GroupVersion {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Whether clients take this version of the group unless they ask for another. */
  readonly preferred: boolean;
  readonly resources: readonly ApiResource[];
  /** By their full name, such as `io.k8s.api.core.v1.Pod`; those of other groups that this one refers to included. */
  readonly schemas: Readonly<Record<string, Schema>>;
}

interface ApiGroup {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
  readonly preferredVersion: { readonly version: string };
}

type Read = (path: string) => Promise<unknown>;

export async function readGroupVersions(read: Read): Promise<GroupVersion[]> {
  const { groups } = (await read('/apis')) as { groups: readonly ApiGroup[] };
  const found = [await readOne(read, '', 'v1', true)];
  for (const { name, versions, preferredVersion } of groups) {
    for (const { version } of versions) {
      found.push(await readOne(read, name, version, version === preferredVersion.version));
    }
  }
  return found;
}

async function readOne(
  read: Read,
  group: string,
  version: string,
  preferred: boolean,
): Promise<GroupVersion> {
  const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
  const discovered = (await read(`/${path}`)) as { resources: readonly ApiResource[] };
  const { components } = (await read(`/openapi/v3/${path}`)) as {
    components: { schemas: GroupVersion['schemas'] };
  };
  const resources = discovered.resources.filter(({ name }) => !name.includes('/'));
  return { group, version, preferred, resources, schemas: components.schemas };
}
