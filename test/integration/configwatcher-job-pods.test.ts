/** Pods that run to an end, of a Job and of others: on a real API server with the real Job controller. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type KubernetesObject, pods, type Resource } from '../../src/kubernetes/objects.ts';
import { plainContainer } from './configwatcher-owner.ts';
import { Shop } from './configwatcher-shop.ts';

const jobs: Resource<KubernetesObject & { spec?: object }> = {
  ...{ group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true },
};
const labels = { app: 'webapp' };

it('a ConfigWatcher has Pods that run to an end follow jobPods, whatever made them', {
  timeout: 120_000,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  const { metadata: owner } = await shop.createConfigMap({ message: 'first' });
  // A workflow, say; a ConfigMap stands in for it.
  const controller = { apiVersion: 'v1', kind: 'ConfigMap', name: owner.name, uid: owner.uid ?? '' };
  const ownerReferences = [{ ...controller, controller: true }];
  for (const restartPolicy of ['Never', 'OnFailure'] as const) {
    const name = `step-${restartPolicy.toLowerCase()}`;
    const spec = { containers: [plainContainer], restartPolicy };
    await client.create(pods, { metadata: { namespace, name, labels, ownerReferences }, spec });
  }
  const template = {
    metadata: { labels },
    spec: { containers: [plainContainer], restartPolicy: 'OnFailure' },
  };
  await client.create(jobs, { metadata: { namespace, name: 'job' }, spec: { template } });
  const before = (await shop.allReady(3)).map(({ metadata }) => metadata.uid);
  await shop.startOperator();
  await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  await shop.baselined();
  await shop.patchConfigMap({ data: { message: 'second' } });
  const skipped = await shop.until('it is applied', ({ history }) => history?.length === 1);
  assert.deepEqual([skipped.lastRestart?.restarted, skipped.skippedPods, shop.seen.length], [0, 3, 3]);
  await shop.edit({ strategy: { jobPods: 'Delete' } });
  await shop.patchConfigMap({ data: { message: 'third' } });
  const { lastRestart } = await shop.restarted(1);
  const [another, ...others] = await shop.allReady(1);
  assert.deepEqual([lastRestart?.restarted, others], [3, []]);
  assert.match(another?.metadata.name ?? '', /^job-/);
  assert.equal(before.includes(another?.metadata.uid), false, 'the Job alone has made another Pod');
});
