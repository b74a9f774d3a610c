/**
 * Predicate: which events of a source are worth a reconcile. Pure. The ready-made ones look at updates
 * only; creates and deletes always pass. So does an update that marks its object for deletion: a source asks no
 * predicate about it.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { synchronous } from '../callback.ts';
import type { ObjectEvent } from './event-handler.ts';

/** True: the event passes. One that throws lets it pass, logged. */
export type Predicate<T extends KubernetesObject> = (event: ObjectEvent<T>) => boolean;

/**
 * The spec changed: `metadata.generation` moved. Of kinds with a status subresource that leaves out status
 * writes and metadata edits, so that a controller does not wake itself. Of kinds without generation, such as
 * ConfigMap, the mark for deletion is the only update that passes.
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
  return (event) => predicates.every((predicate) => synchronous(predicate(event)));
}

/** At least one of them passes. */
export function or<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.some((predicate) => synchronous(predicate(event)));
}

/** It does not pass; mind that the ready-made ones let creates and deletes pass, which this turns round. */
export function not<T extends KubernetesObject>(predicate: Predicate<T>): Predicate<T> {
  return (event) => !synchronous(predicate(event));
}

/** Whether the object was marked for deletion by this update, or the mark was moved. */
export function changesDeletion(event: ObjectEvent<KubernetesObject>): boolean {
  if (event.type !== 'update') return false;
  return event.previous.metadata.deletionTimestamp !== event.object.metadata.deletionTimestamp;
}

function onUpdate(
  changed: (previous: KubernetesObject, object: KubernetesObject) => boolean,
): Predicate<KubernetesObject> {
  return (event) =>
    event.type !== 'update' || changesDeletion(event) || changed(event.previous, event.object);
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
