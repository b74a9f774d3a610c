/**
 * Watched objects: what is kept of the ConfigMaps and Pods of a cluster, and which watchers an event is
 * for. Only metadata is watched; of that, only what is named here is kept. Annotations carry whole contents
 * (`kubectl apply` puts a copy of the object into one), so they are dropped before anything is stored.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { reloaderSourceAnnotation, watcherAnnotation } from '../../api/configwatcher-constants.ts';
import {
  controllerOf,
  type KubernetesObject,
  type ObjectMeta,
  type OwnerReference,
} from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Predicate } from '../../runtime/controller/predicate.ts';
import type { Request } from '../../runtime/controller/reconciler.ts';
import { type InvalidSpec, readSpec, type WatcherSpec } from '../plan/spec.ts';

function keep(metadata: ObjectMeta, names: readonly (keyof ObjectMeta)[]): ObjectMeta {
  const kept = names.filter((name) => metadata[name] !== undefined).map((name) => [name, metadata[name]]);
  return Object.fromEntries(kept) as unknown as ObjectMeta;
}

/** Of a ConfigMap or Secret: which one it is, its version, and the annotations that are meant for us. */
export function transformSource({ metadata }: KubernetesObject): KubernetesObject {
  const kept = keep(metadata, ['name', 'namespace', 'uid', 'resourceVersion', 'deletionTimestamp']);
  const ours = Object.entries(metadata.annotations ?? {}).filter(([key]) => ownAnnotations.has(key));
  return { metadata: ours.length > 0 ? { ...kept, annotations: Object.fromEntries(ours) } : kept };
}

const ownAnnotations: ReadonlySet<string> = new Set([
  ...Object.values(watcherAnnotation),
  ...Object.values(reloaderSourceAnnotation),
]);

/**
 * A predicate: status tells of another change than before, or that one is applied. What wrote it may be a request of this
 * process that was taken for failed, and arrived late; or another process, while this one, whose watch stood still, compared
 * the contents with the status of before: nothing else would have the watcher looked at again.
 */
export const changeRecorded: Predicate<ConfigWatcher> = (event) => {
  if (event.type !== 'update') return true;
  const [before, after] = [event.previous.status, event.object.status];
  const { pending } = after ?? {};
  const isRecorded =
    pending !== undefined &&
    (pending.hash !== before?.pending?.hash || pending.since !== before?.pending?.since);
  // When a restart is over the Pods are counted again, also when it ends at the content that was applied before.
  const isOver = before?.pending !== undefined && pending === undefined;
  return isRecorded || isOver || after?.appliedHash !== before?.appliedHash;
};

/** Of a Pod: which one it is, its version, its labels, its controller, and whether it is on its way out. */
export function transformPod(pod: KubernetesObject): KubernetesObject {
  const { metadata } = pod;
  const kept = keep(metadata, [
    ...(['name', 'namespace', 'uid', 'resourceVersion'] as const),
    ...(['creationTimestamp', 'deletionTimestamp', 'labels'] as const),
  ]);
  const controller = controllerOf(pod);
  return { metadata: controller ? { ...kept, ownerReferences: sharedReference(controller) } : kept };
}

let lastReference: readonly OwnerReference[] = [];

/** The Pods of a controller follow each other in a list: they keep one reference to it between them. */
function sharedReference(controller: OwnerReference): readonly OwnerReference[] {
  const { apiVersion, kind, name, uid } = controller;
  if (lastReference[0]?.uid !== uid) lastReference = [{ apiVersion, kind, name, uid, controller: true }];
  return lastReference;
}

const specs = new WeakMap<ConfigWatcher, WatcherSpec | InvalidSpec>();

/** What the specs read last mean, by their text, the oldest first. */
const readSpecs = new Map<string, WatcherSpec | InvalidSpec>();
const maxReadSpecs = 1000;

/** The spec, read once per version of the object: stored objects never change. */
export function specOf(watcher: ConfigWatcher): WatcherSpec | InvalidSpec {
  const known = specs.get(watcher) ?? readOnce(watcher.spec);
  specs.set(watcher, known);
  return known;
}

/** A restart writes the status many times, and each write makes a version of the object with the same spec. */
function readOnce(spec: unknown): WatcherSpec | InvalidSpec {
  const text = JSON.stringify(spec) ?? '';
  const read = readSpecs.get(text) ?? readSpec(spec);
  readSpecs.delete(text);
  readSpecs.set(text, read);
  for (const oldest of readSpecs.keys()) {
    if (readSpecs.size <= maxReadSpecs) break;
    readSpecs.delete(oldest);
  }
  return read;
}

/** Reads the spec of a watcher that was not written as an object; `invalid` reports in its words that it is bad. */
export function presentSpec(watcher: ConfigWatcher, invalid: InvalidSpec): void {
  const spec = readSpec(watcher.spec);
  specs.set(watcher, 'invalid' in spec ? invalid : spec);
}

/** Name of the index that finds watchers by {@link sourcesOf}. */
export const sourceIndex = 'configwatcher/source';

/** Index values of a watcher: the objects it names. */
export function sourcesOf(watcher: ConfigWatcher): readonly string[] {
  const spec = specOf(watcher);
  if ('invalid' in spec) return [];
  const { namespace = '' } = watcher.metadata;
  return spec.sources.map(({ kind, name }) => sourceKey(kind, namespace, name));
}

function sourceKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** The watchers that name this source. */
export function watchersOf(
  watchers: Lister<ConfigWatcher>,
  kind: string,
  { metadata: { namespace = '', name } }: KubernetesObject,
): Request[] {
  return watchers
    .byIndex(sourceIndex, sourceKey(kind, namespace, name))
    .map(({ metadata }) => ({ namespace, name: metadata.name }));
}
