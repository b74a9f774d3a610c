/** Namespace controller: empties a namespace that is being deleted, then lets it go. */
import { type ClusterView, isSameResource } from '../cluster-ports.ts';
import { type Namespace, namespaces } from '../objects.ts';
import { Controller, type ControllerSetting, controllerUser, type Plan } from './controller.ts';
import { remove, type Write } from './write.ts';

const kubernetes = 'kubernetes';

export function namespaceController(setting: ControllerSetting): Controller {
  const { view } = setting.cluster;
  const isDying = (name: string) => view.get(namespaces, '', name)?.metadata.deletionTimestamp !== undefined;
  return new Controller({
    delay: [10, 500],
    ...setting,
    user: controllerUser('namespace-controller'),
    keysOf({ type, resource, object }) {
      if (isSameResource(resource, namespaces)) return type === 'DELETED' ? [] : [object.metadata.name];
      const { namespace } = object.metadata;
      return namespace !== undefined && type === 'DELETED' && isDying(namespace) ? [namespace] : [];
    },
    plan(name) {
      const namespace = view.get(namespaces, '', name);
      return namespace && namespacePlan(namespace, view);
    },
  });
}

/** Objects that are being deleted already are waited for. */
export function namespacePlan(namespace: Namespace, view: ClusterView): Plan | undefined {
  const { metadata, spec } = namespace;
  const finalizers = spec?.finalizers ?? [];
  if (metadata.deletionTimestamp === undefined || !finalizers.includes(kubernetes)) return undefined;
  const deletions: Write[] = [];
  let remaining = false;
  for (const resource of view.resources()) {
    if (!resource.namespaced) continue;
    for (const object of view.list(resource, metadata.name)) {
      remaining = true;
      if (object.metadata.deletionTimestamp === undefined) deletions.push(remove(resource, object));
    }
  }
  // Between the deletions and a look at what they left, others may have created something more.
  if (remaining) return { batches: [deletions], retry: deletions.length > 0 };
  return { batches: [[finalized(namespace, finalizers)]] };
}

function finalized(namespace: Namespace, finalizers: readonly string[]): Write {
  const rest = finalizers.filter((finalizer) => finalizer !== kubernetes);
  const object = { ...namespace, spec: { ...namespace.spec, finalizers: rest } };
  return { verb: 'update', resource: namespaces, object, subresource: 'finalize' };
}
