/**
 * Predicate: which events of a source are worth a reconcile. Pure. The ready-made ones look at updates
 * only; creates and deletes always pass.
 */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ObjectEvent } from './event-handler.ts';

/** True: the event passes. One that throws lets it pass, logged. */
export type Predicate<T extends KubernetesObject> = (event: ObjectEvent<T>) => boolean;

/**
 * The spec changed: `metadata.generation` moved. Of kinds with a status subresource that leaves out status
 * writes and metadata edits, so that a controller does not wake itself; kinds without generation, such as
 * ConfigMap, never pass an update.
 */
export const generationChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => previous.metadata.generation !== object.metadata.generation,
);

/** Anything was written: leaves out repeated deliveries of the same version. */
export const resourceVersionChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => previous.metadata.resourceVersion !== object.metadata.resourceVersion,
);

/** Any label was added, changed or removed. */
export const labelsChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => !sameEntries(previous.metadata.labels, object.metadata.labels),
);

/** Any annotation or, with a name, that one. */
export function annotationChanged(name?: string): Predicate<KubernetesObject> {
  return onUpdate(({ metadata: previous }, { metadata }) =>
    name === undefined
      ? !sameEntries(previous.annotations, metadata.annotations)
      : previous.annotations?.[name] !== metadata.annotations?.[name],
  );
}

/** All of them pass; with none, everything passes. */
export function and<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.every((predicate) => predicate(event));
}

/** At least one of them passes. */
export function or<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.some((predicate) => predicate(event));
}

/** It does not pass; mind that the ready-made ones let creates and deletes pass, which this turns round. */
export function not<T extends KubernetesObject>(predicate: Predicate<T>): Predicate<T> {
  return (event) => !predicate(event);
}

function onUpdate(
  changed: (previous: KubernetesObject, object: KubernetesObject) => boolean,
): Predicate<KubernetesObject> {
  return (event) => event.type !== 'update' || changed(event.previous, event.object);
}

function sameEntries(
  a: Readonly<Record<string, string>> = {},
  b: Readonly<Record<string, string>> = {},
): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && a[name] === b[name])
  );
}
