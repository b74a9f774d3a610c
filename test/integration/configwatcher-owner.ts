/** Owners of Pods of a shop: a kind or a Pod template that the shop itself does not offer, and how its rollouts go. */
import { deployments, type Workload } from '../../src/configwatcher/facts/workload.ts';
import type { Resource } from '../../src/kubernetes/objects.ts';
import { probedContainer, type Shop } from './configwatcher-shop.ts';

/** A container without a reference to any configuration. */
export const plainContainer = { name: 'app', image: 'mini-http-server' };

/** Creates a Deployment or ReplicaSet whose Pods have the labels of the shop's own; does not wait for them. */
export async function createOwner(
  { client, namespace }: Shop,
  resource: Resource<Workload>,
  name: string,
  replicas: number,
  podSpec: object = {},
): Promise<void> {
  const labels = { app: 'webapp', deployment: name };
  const template = { metadata: { labels }, spec: { containers: [probedContainer], ...podSpec } };
  const spec = { selector: { matchLabels: labels }, replicas, template };
  await client.create(resource, { metadata: { namespace, name }, spec });
}

/** As `kubectl rollout pause` and `resume` do. */
export async function setPaused(
  { client, namespace }: Shop,
  paused: boolean,
  name = 'webapp',
): Promise<void> {
  await client.patch(deployments, { namespace, name }, { type: 'merge', body: { spec: { paused } } });
}

/** Of a StatefulSet or DaemonSet; what is null in it is taken out. */
export async function setUpdateStrategy(
  { client, namespace }: Shop,
  resource: Resource<Workload>,
  updateStrategy: { readonly type?: string; readonly rollingUpdate: { readonly partition: number } | null },
  name = 'webapp',
): Promise<void> {
  await client.patch(resource, { namespace, name }, { type: 'merge', body: { spec: { updateStrategy } } });
}
