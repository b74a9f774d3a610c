/**
 * EventRecorder: tells people what happened, as events.k8s.io/v1 Events. Fire and forget: recording never
 * waits, never throws, and a full queue drops Events before it delays a reconcile.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';

/** An Event to record: what happened, for human readers. */
export interface EventRecord {
  readonly type: 'Normal' | 'Warning';
  /** UpperCamelCase, for machines: `Launched`. ≤ 128 characters. */
  readonly reason: string;
  /** What the controller did or tried, UpperCamelCase: `CreatePod`. ≤ 128 characters. */
  readonly action: string;
  /** For people, ≤ 1024 bytes; longer notes are cut. */
  readonly note: string;
}

/** Records Events of one controller; made by `recorder` of the Manager. */
export interface EventRecorder {
  /**
   * Records an Event about `regarding`. Equal ones (same object, type, reason, action and note) become one
   * series, until nothing was added to it for 6 minutes.
   */
  record(resource: Resource, regarding: KubernetesObject, event: EventRecord): void;
}
