/**
 * Event: the events.k8s.io/v1 object that tells people what happened to another object. Pure construction,
 * within the limits that the API server sets.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { microTime } from '../micro-time.ts';
import type { EventRecord } from './event-recorder.ts';

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** The same thing again and again. */
export interface EventSeries {
  /** ≥ 2. */
  readonly count: number;
  /** metav1.MicroTime. */
  readonly lastObservedTime: string;
}

export interface Event extends KubernetesObject {
  /** metav1.MicroTime, when it first happened. */
  readonly eventTime: string;
  readonly type: string;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: ObjectReference;
  /** Which controller, `domain/name`. */
  readonly reportingController: string;
  /** Which of its processes. */
  readonly reportingInstance: string;
  readonly series?: EventSeries;
}

export const events: Resource<Event> = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

const noteLimit = 1024;
const fieldLimit = 128;
const nameLimit = 253;

export interface EventOptions {
  readonly resource: Resource;
  readonly regarding: KubernetesObject;
  readonly record: EventRecord;
  readonly reportingController: string;
  readonly reportingInstance: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** What makes the name unlike that of every other Event of the object; hexadecimal digits. */
  readonly suffix: string;
}

export function eventOf({ resource, regarding, record, now, suffix, ...reporter }: EventOptions): Event {
  const { name, namespace, uid, resourceVersion } = regarding.metadata;
  return {
    apiVersion: apiVersionOf(events),
    kind: events.kind,
    // Events about objects without a namespace live in `default`, as the API server demands.
    metadata: { name: eventName(name, suffix), namespace: namespace || 'default' },
    eventTime: microTime(now),
    type: record.type,
    reason: cutBytes(record.reason, fieldLimit),
    action: cutBytes(record.action, fieldLimit),
    note: cutBytes(record.note, noteLimit),
    regarding: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      ...(namespace && { namespace }),
      name,
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    reportingController: reporter.reportingController,
    reportingInstance: cutBytes(reporter.reportingInstance, fieldLimit),
  };
}

/**
 * `<object>.<suffix>`, the object's name cut where the whole would be too long for a name. The name of an Event is a
 * DNS subdomain; some objects may be named otherwise, such as the ClusterRole `system:controller:x`: for what is not
 * allowed there is a `-`.
 */
export function eventName(object: string, suffix: string): string {
  const room = nameLimit - suffix.length - 1;
  const allowed = object.toLowerCase().replace(/[^a-z0-9.-]/g, '-');
  const labels = allowed.slice(0, room).split('.').map(trimHyphens);
  return [...labels.filter((label) => label !== ''), suffix].join('.');
}

function trimHyphens(label: string): string {
  return label.replace(/^-+|-+$/g, '');
}

/** The longest beginning of `text` that has at most `limit` bytes in UTF-8 and ends between characters. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new Uint8Array(limit);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return read === text.length ? text.toWellFormed() : text.slice(0, read).toWellFormed();
}
