/** Draws users who ask for Ats, and the right to create Pods that they get and lose. */
import { developerOf } from '../authors.ts';
import type { Creation, Deed } from './plan.ts';

/** The role that a developer may have. */
export const creatorOfPods = 'creator-of-pods';

/** The developer of that At may create Pods from then on. */
export function grant(at: string, when: number): Deed {
  const name = developerOf(at);
  const object = {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name } },
    ...{ roleRef: { kind: 'ClusterRole', name: creatorOfPods }, subjects: [{ kind: 'User', name }] },
  };
  return { at: when, do: 'create', resource: 'rolebindings', name, object };
}

/** From then on not any more. */
export function revoke(at: string, when: number): Deed {
  return { at: when, do: 'delete', resource: 'rolebindings', name: developerOf(at) };
}

/** Its developer asks for it, instead of an administrator. */
export function byDeveloper(creation: Creation): Creation {
  return { ...creation, by: developerOf(creation.name) };
}
