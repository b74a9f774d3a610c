/**
 * ConfigWatchers behind a CRD that checks nothing and has no defaults: the operator does both itself. On a control plane of
 * its own: the CRD of the other tests stays as it is.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { plainContainer } from './configwatcher-owner.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { HostileProxy } from './hostile-proxy.ts';
import { loosenCrd, mistakes } from './lax-crd.ts';
import { eventually } from './support.ts';

const timeout = 180_000;

let controlPlane: ControlPlane;
before(async () => {
  controlPlane = await startControlPlane();
  process.env.KUBECONFIG = controlPlane.kubeconfig;
});
after(() => controlPlane?.stop());

function nameOf(index: number): string {
  return `mistake-${index}`;
}

it('ConfigWatchers that cannot be followed are told once, restart nothing and ask no more, and one beside them works by its defaults', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await loosenCrd(shop);
  const proxy = await HostileProxy.start(t);
  await shop.createConfigMap({ message: 'first' });
  await shop.createConfigMap({ message: 'first' }, 'good-config');
  await shop.deploy(2);
  const bare = { namespace, name: 'bare', labels: { app: 'webapp' } };
  await client.create(pods, { metadata: bare, spec: { containers: [plainContainer] } });
  await shop.allReady(3);
  for (const [index, { spec }] of mistakes.entries()) {
    await client.create(configWatchers, {
      metadata: { namespace, name: nameOf(index) },
      spec: spec as never,
    });
  }
  await shop.startOperator({ kubeConfig: proxy.kubeConfig });
  for (const [index, { told }] of mistakes.entries()) {
    const status = await shop.until('it is told', ({ conditions }) => conditions !== undefined, {
      name: nameOf(index),
    });
    const { status: isReady, reason, message = '' } = findCondition(status.conditions, 'Ready') ?? {};
    assert.deepEqual([isReady, reason], ['False', 'InvalidSpec']);
    assert.ok(message.startsWith(told), message);
  }
  const warnings = async () => {
    const { items } = await client.list(events, { namespace });
    return items.filter(({ regarding }) => regarding?.name?.startsWith('mistake-'));
  };
  await eventually(async () => (await warnings()).length >= mistakes.length, {
    message: 'each has an Event',
  });

  // All that the book's sample says.
  const spec = { configMap: 'good-config', podSelector: { app: 'webapp' } };
  const good = await client.create(configWatchers, { metadata: { namespace, name: 'good' }, spec });
  assert.deepEqual(good.spec, spec, 'the API server adds nothing');
  await shop.baselined('good');
  const from = proxy.asked.length;
  await shop.patchConfigMap({ data: { message: 'second' } });
  await shop.patchConfigMap({ data: { message: 'second' } }, 'good-config');
  const isDone = ({ restartCount, pending }: typeof good.status & object) => restartCount === 1 && !pending;
  const { lastRestart, ...status } = await shop.until('its Pods are restarted', isDone, { name: 'good' });
  await shop.allReady(3);
  assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedUnmanaged, shop.seen.length], [2, 1, 5]);
  assert.equal(status.strategyInUse, 'Auto');
  const startedAt = Date.parse(lastRestart?.startTime ?? '');
  assert.ok(startedAt - Date.parse(status.lastChangeTime ?? '') >= 2000, 'after the debounce');
  assert.equal(Date.parse(status.cooldownUntil ?? '') - startedAt, 30_000);

  const again = proxy.asked.slice(from).filter(({ path }) => path.includes('/mistake-'));
  assert.deepEqual(again, []);
  const told = (await warnings()).map(({ type, reason, regarding, series }) => {
    return [regarding?.name, type, reason, series?.count ?? 1];
  });
  const expected = mistakes.map((_, index) => [nameOf(index), 'Warning', 'InvalidSpec', 1]);
  assert.deepEqual(told.sort(), expected.sort());
});
