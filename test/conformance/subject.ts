/**
 * Subject of the conformance suite: an API server, real or fake, with a namespace to work in and a custom
 * resource with a status subresource.
 */
import assert from 'node:assert/strict';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import type { RawAnswer, RawRequests } from './raw-requests.ts';

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
  /** The same server without a client. */
  readonly api: RawRequests;
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

/** A name that no other row uses. */
export function newName(prefix: string): string {
  return `${prefix}-${++serial}`;
}

/** Where the resources of the rows live in a namespace. */
export function pathsOf(namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`;
  return {
    configMaps: `${core}/configmaps`,
    secrets: `${core}/secrets`,
    pods: `${core}/pods`,
    quotas: `${core}/resourcequotas`,
    budgets: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
    deployments: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    widgets: `/apis/${widgets.group}/${widgets.version}/namespaces/${namespace}/${widgets.plural}`,
  };
}

/** The body of a Pod that no scheduler looks at, because it is bound to a node that does not exist. */
export function podBody(name: string, spec: object = {}, metadata: object = {}): object {
  const containers = [{ name: 'main', image: 'busybox:1' }];
  return { metadata: { name, ...metadata }, spec: { nodeName: 'no-such-node', containers, ...spec } };
}

/** Asserts that a request was refused so. @returns the causes, without those that are told twice. */
export function assertRefused(
  { code, body }: RawAnswer,
  expected: { readonly code: number; readonly reason?: string; readonly message: string | RegExp },
): readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[] {
  assert.equal(code, expected.code, JSON.stringify(body));
  assert.equal(body.kind, 'Status');
  assert.equal(body.reason, expected.reason);
  if (typeof expected.message === 'string') assert.equal(body.message, expected.message);
  else assert.match(body.message, expected.message);
  const causes: readonly object[] = body.details?.causes ?? [];
  return [...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values()];
}

/** The answer to a request that must not fail. */
export function succeeded(answer: RawAnswer): RawAnswer {
  assert.ok(answer.code < 300, `${answer.code} ${answer.text}`);
  return answer;
}

/** Waits until something holds, at most 45 seconds. */
export async function eventually(what: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 45_000;
  while (!(await what())) {
    assert.ok(performance.now() < end, 'it takes too long');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
