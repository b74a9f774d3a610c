/**
 * Subject of the conformance suite: an API server, real or fake, with a namespace to work in and a custom
 * resource with a status subresource.
 */
import type { KubernetesObject, Resource } from '../../src/api/kubernetes.ts';
import type { Client } from '../../src/runtime/client/client.ts';

export interface Widget extends KubernetesObject {
  readonly spec: {
    readonly size: number;
    readonly text?: string;
    readonly tags?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly phase?: string; readonly count?: number };
}

export const widgets: Resource<Widget> = {
  group: 'conformance.example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

/** The CRD that a real API server needs for {@link widgets}. */
export const widgetsDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${widgets.plural}.${widgets.group}` },
  spec: {
    group: widgets.group,
    scope: 'Namespaced',
    names: { plural: widgets.plural, singular: 'widget', kind: widgets.kind, listKind: 'WidgetList' },
    versions: [
      {
        name: widgets.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  text: { type: 'string' },
                  tags: { type: 'object', additionalProperties: { type: 'string' } },
                },
              },
              status: {
                type: 'object',
                properties: { phase: { type: 'string' }, count: { type: 'integer' } },
              },
            },
          },
        },
      },
    ],
  },
};

export interface Subject {
  readonly client: Client;
  readonly namespace: string;
}

/** One thing that both servers must do alike. */
export interface ConformanceRow {
  readonly title: string;
  run(subject: Subject): Promise<void>;
}

let serial = 0;

/** A widget with a name that no other row uses. */
export function newWidget(
  namespace: string,
  fields: Partial<Widget> & { labels?: Record<string, string> } = {},
): Widget {
  const { labels, metadata, ...rest } = fields;
  return {
    metadata: { name: `w-${++serial}`, namespace, ...(labels && { labels }), ...metadata },
    spec: { size: 1 },
    ...rest,
  };
}

/** Namespace and name of an object. */
export function keyOf({ metadata }: KubernetesObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}
