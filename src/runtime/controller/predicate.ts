/**
 * Predicate: which events of a source are worth a reconcile. Pure. The ready-made ones look at updates
 * only; creates and deletes always pass. So does an update that marks its object for deletion: a source asks no
 * predicate about it.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { synchronous } from '../callback.ts';
import type { ObjectEvent } from './event-handler.ts';

/**
 * Decides whether an event reaches the controller; true lets it pass. One that throws lets it pass, and a log
 * line says so.
 */
export type Predicate<T extends KubernetesObject> = (event: ObjectEvent<T>) => boolean;

/**
 * A predicate: the spec changed (`metadata.generation` moved). Of kinds with a status subresource that leaves
 * out status writes and metadata edits, so that a controller does not wake itself. Of kinds without
 * generation, such as ConfigMap, the mark for deletion is the only update that passes.
 */
export const generationChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => previous.metadata.generation !== object.metadata.generation,
);

/** A predicate: anything was written. It leaves out repeated deliveries of the same version. */
export const resourceVersionChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => previous.metadata.resourceVersion !== object.metadata.resourceVersion,
);

/** A predicate: any label was added, changed or removed. */
export const labelsChanged: Predicate<KubernetesObject> = onUpdate(
  (previous, object) => !sameEntries(previous.metadata.labels, object.metadata.labels),
);

/** A predicate: any annotation changed or, with a name, that one. */
export function annotationChanged(name?: string): Predicate<KubernetesObject> {
  return onUpdate(({ metadata: previous }, { metadata }) =>
    name === undefined
      ? !sameEntries(previous.annotations, metadata.annotations)
      : previous.annotations?.[name] !== metadata.annotations?.[name],
  );
}

/** A predicate that an event passes when it passes all of these; with none, every event passes. */
export function and<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.every((predicate) => synchronous(predicate(event)));
}

/** A predicate that an event passes when it passes at least one of these. */
export function or<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.some((predicate) => synchronous(predicate(event)));
}

/**
 * A predicate that an event passes when it does not pass this one. The ready-made ones let creates and
 * deletes pass, which this turns round.
 */
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
