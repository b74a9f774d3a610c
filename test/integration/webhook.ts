/**
 * A validating admission webhook of a test: it is asked about the creations of ConfigMaps in one namespace, or of
 * another kind, and answers what the test says, when the test says. A mutating one is asked about changes, too.
 */
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createAuthority } from '../../local-cluster/pki.ts';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { namespaces } from '../fixtures/cluster-resources.ts';

type WebhookConfiguration = KubernetesObject & { readonly webhooks: readonly object[] };

const admission = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;

export const webhookConfigurations: Resource<WebhookConfiguration> = {
  ...{ ...admission, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
};

const mutatingConfigurations: Resource<WebhookConfiguration> = {
  ...{ ...admission, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
};

/** What the webhook says of one creation. */
export interface Verdict {
  /** Warnings for the client. */
  readonly warnings?: readonly string[];
  /** Default true. */
  readonly allowed?: boolean;
  /** Why it is not allowed, as the client gets it. */
  readonly status?: { readonly code: number; readonly message: string; readonly details?: object };
}

/** Creations under way, and a way to end them. */
export interface TestWebhook {
  /** How many the API server has asked about so far. */
  readonly asked: number;
  /** The API server asks no more, a moment later. At the end of the test this is done in any case. */
  remove(): Promise<void>;
}

/** Every creation of such a resource in the namespace is allowed, unless `verdict` says otherwise, once that has resolved. */
export async function startWebhook(
  t: TestContext,
  client: Client,
  namespace: string,
  verdict: () => Promise<Verdict>,
  resource = 'configmaps',
): Promise<TestWebhook> {
  let asked = 0;
  const remove = () => unregister(client, namespace);
  t.after(remove);
  const clientConfig = await serve(t, () => {
    asked++;
    return verdict();
  });
  const webhook = { name: 'test.webhook.example.com', clientConfig, timeoutSeconds: 30 };
  await register(client, namespace, webhook, resource);
  return {
    get asked() {
      return asked;
    },
    remove,
  };
}

/** Each create and update of such a resource in the namespace is changed so, by the operations of a JSON Patch. */
export async function startMutatingWebhook(
  t: TestContext,
  { client, namespace }: { readonly client: Client; readonly namespace: string },
  resource: string,
  operations: () => readonly object[],
): Promise<void> {
  t.after(() => unregister(client, namespace, mutatingConfigurations));
  const clientConfig = await serve(t, async () => {
    const patch = Buffer.from(JSON.stringify(operations())).toString('base64');
    return { patchType: 'JSONPatch', patch };
  });
  const webhook = { name: 'test.webhook.example.com', clientConfig, timeoutSeconds: 30 };
  await register(client, namespace, webhook, resource, mutatingConfigurations);
}

/** A server of webhooks until the end of the test. Resolves with how the API server reaches it. */
async function serve(t: TestContext, answer: () => Promise<object>): Promise<object> {
  const authority = await createAuthority('webhook-ca');
  const { key, certificate: cert } = await authority.issue({ name: 'webhook', hosts: ['127.0.0.1'] });
  const sockets = new Set<Socket>();
  const server = createServer({ key, cert }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { uid } = JSON.parse(Buffer.concat(chunks).toString('utf8')).request;
    const answered = { uid, allowed: true, ...(await answer()) };
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answered };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/`,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
  };
}

/** A webhook for the Pods of the namespace at an address where nothing listens. Resolves with what removes it. */
export async function installDeadWebhook(
  t: TestContext,
  { client, namespace }: { readonly client: Client; readonly namespace: string },
): Promise<() => Promise<void>> {
  const remove = () => unregister(client, namespace);
  t.after(remove);
  const clientConfig = { url: 'https://127.0.0.1:1/' };
  await register(client, namespace, { name: 'dead.example.com', clientConfig, timeoutSeconds: 2 }, 'pods');
  return remove;
}

/** From now on, or a moment later, the API server asks about each creation of such a resource in the namespace. */
async function register(
  client: Client,
  namespace: string,
  own: { readonly name: string; readonly clientConfig: object; readonly timeoutSeconds: number },
  resource: string,
  configurations = webhookConfigurations,
): Promise<void> {
  const metadata = { name: namespace };
  const labels = { webhook: namespace };
  const operations = configurations === webhookConfigurations ? ['CREATE'] : ['CREATE', 'UPDATE'];
  await client.patch(namespaces, metadata, { type: 'merge', body: { metadata: { labels } } });
  await client.create(configurations, {
    metadata,
    webhooks: [
      {
        ...own,
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: [resource], operations }],
        namespaceSelector: { matchLabels: labels },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
      },
    ],
  });
}

async function unregister(
  client: Client,
  namespace: string,
  configurations = webhookConfigurations,
): Promise<void> {
  try {
    await client.delete(configurations, { name: namespace });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
