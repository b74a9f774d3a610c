/**
 * Widget: the made-up kind that the cache's tests watch, and the watch lines about it.
 */
import type { KubernetesObject, ObjectMeta, Resource } from '../../../src/kubernetes/objects.ts';
import type { WatchEvent } from '../../../src/runtime/client/client.ts';

export interface Widget extends KubernetesObject {
  readonly spec?: { readonly owner?: string; readonly size?: number };
}

export const widgets: Resource<Widget> = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

export interface WidgetFields extends Partial<ObjectMeta> {
  readonly rv?: number;
  readonly spec?: Widget['spec'];
}

/** A widget "a" in namespace "default" with a uid made of its name, unless told otherwise. */
export function widget({ rv = 1, spec, ...metadata }: WidgetFields = {}): Widget {
  const name = metadata.name ?? 'a';
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: String(rv), ...metadata },
    ...(spec === undefined ? {} : { spec }),
  };
}

export function added(fields: WidgetFields): WatchEvent<Widget> {
  return { type: 'ADDED', object: widget(fields) };
}

export function modified(fields: WidgetFields): WatchEvent<Widget> {
  return { type: 'MODIFIED', object: widget(fields) };
}

export function deleted(fields: WidgetFields): WatchEvent<Widget> {
  return { type: 'DELETED', object: widget(fields) };
}

export function bookmark(rv: number): WatchEvent<Widget> {
  return { type: 'BOOKMARK', object: { metadata: { name: '', resourceVersion: String(rv) } } };
}

export function initialEventsEnd(rv: number): WatchEvent<Widget> {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  return { type: 'BOOKMARK', object: { metadata: { name: '', resourceVersion: String(rv), annotations } } };
}

export function failed(code: number, message = `code ${code}`): WatchEvent<Widget> {
  return { type: 'ERROR', object: { kind: 'Status', status: 'Failure', code, message } };
}
