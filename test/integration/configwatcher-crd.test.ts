/**
 * CRDs and an API server that change, go and come back while the operator runs. On a control plane of its own:
 * those of the other tests stay alone.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchersCom } from '../../src/api/resources.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { plainContainer } from './configwatcher-owner.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { compact } from './etcd.ts';
import { eventually } from './support.ts';

const bookCrd = '../shared/books/k8spatterns/io/operator-config-watcher-crd.yml';
const skip = existsSync(bookCrd) ? false : `the book's CRD is not at ${bookCrd}`;
const ours = ['apply', '--server-side', '--force-conflicts', '--kustomize=crds'];

const patience = { timeout: 90_000 };
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

let controlPlane: ControlPlane;
before(async () => {
  controlPlane = await startControlPlane();
  process.env.KUBECONFIG = controlPlane.kubeconfig;
});
after(() => controlPlane?.stop());

/** A shop in the middle of a restart of four Pods, one by one. */
async function inMidRestart(t: TestContext): Promise<Shop> {
  const shop = await Shop.watched(t, 4);
  await shop.patchConfigMap({ data: { message: 'second' } });
  await eventually(() => shop.seen.length > 4, { ...patience, interval: 10 });
  return shop;
}

/** A Deployment with another label than those of the shop; resolves with the means to tell its Pods, once they serve. */
async function bystander(
  shop: Shop,
  replicas: number,
): Promise<() => Promise<readonly (string | undefined)[]>> {
  const { client, namespace } = shop;
  const labels = { app: 'bystander' };
  const template = { metadata: { labels }, spec: { containers: [plainContainer] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  await client.create(deployments, { metadata: { namespace, name: 'bystander' }, spec });
  const list = async () => (await client.list(pods, { namespace, labelSelector: 'app=bystander' })).items;
  const found = await eventually(async () => {
    const there = await list();
    return there.length === replicas && there;
  }, patience);
  for (const { metadata } of found) await shop.getsReady(metadata.name);
  return async () => (await list()).map(({ metadata }) => metadata.uid).sort();
}

describe("the book's CRD over ours", { skip }, () => {
  it('the watcher works on, with its state in an annotation, and back in status with our CRD', async (t) => {
    const shop = await Shop.open(t);
    const watcher = () => shop.watcher();
    const annotation = async () => (await watcher()).metadata.annotations?.['k8spatterns.io/observed'];
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    const others = await bystander(shop, 1);
    const untouched = await others();
    await shop.startOperator();
    await shop.watch({ cooldown: { base: '0s' } });
    await shop.baselined();

    await controlPlane.kubectl(['apply', '--namespace', shop.namespace, `--filename=${bookCrd}`]);
    await eventually(async () => (await watcher()).status === undefined, patience);
    // This CRD lets an empty selector in, which as a parameter would select every Pod.
    await shop.watch({ podSelector: {} }, 'selects-nothing');
    await eventually(
      async () => JSON.stringify(await shop.watcher('selects-nothing')).includes('InvalidSpec'),
      patience,
    );
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(async () => (await annotation())?.includes('"restartCount":1'), patience);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4, 'every Pod was restarted once');
    const state: ConfigWatcherStatus = JSON.parse((await annotation()) ?? '{}');
    const startedAt = Date.parse(state.lastRestart?.startTime ?? '');
    assert.equal(state.strategyInUse, 'Auto', 'this CRD has no defaults: the operator has them');
    assert.ok(startedAt - Date.parse(state.lastChangeTime ?? '') >= 2000, 'after the debounce');
    assert.equal(Date.parse(state.cooldownUntil ?? '') - startedAt, 30_000);
    const { note = '' } = await shop.untilEvent('StatusUnavailable');
    assert.match(note, /has no status: the state is kept in an annotation/);
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    assert.equal(shop.seen.length, 4, 'the annotation survives an operator restart');
    assert.deepEqual(await others(), untouched, 'an empty selector selects nothing');

    await shop.stopOperator();
    await controlPlane.kubectl(ours);
    // The default of our CRD, which is all that the status holds.
    await eventually(async () => (await watcher()).status?.observedGeneration === -1, patience);
    assert.match((await annotation()) ?? '', /"restartCount":1/);
    await shop.startOperator();
    await shop.until('the state is in status', ({ restartCount }) => restartCount === 1);
    // The book's CRD has dropped this.
    await shop.edit({ cooldown: { base: '0s' } });
    await shop.patchConfigMap({ data: { message: 'third' } });
    const status = await shop.restarted(2);
    assert.equal(status.history?.length, 2);
    await eventually(async () => (await annotation()) === undefined, patience);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 6);
  });

  it('and back, both in mid-restart: each Pod is restarted once', async (t) => {
    const shop = await inMidRestart(t);
    const state = async (): Promise<ConfigWatcherStatus> => {
      const { metadata, status } = await shop.watcher();
      const annotation = metadata.annotations?.['k8spatterns.io/observed'];
      return status?.appliedHash === undefined ? JSON.parse(annotation ?? '{}') : status;
    };
    const restarted = (count: number) =>
      eventually(async () => {
        const { restartCount, pending } = await state();
        return restartCount === count && pending === undefined;
      }, patience);
    await controlPlane.kubectl(['apply', '--namespace', shop.namespace, `--filename=${bookCrd}`]);
    await restarted(1);
    await shop.allReady(4);
    assert.equal(shop.seen.length, 8);
    assert.equal((await shop.watcher()).status, undefined, 'the state is in the annotation');
    await shop.patchConfigMap({ data: { message: 'third' } });
    await eventually(() => shop.seen.length > 8, { ...patience, interval: 10 });
    await controlPlane.kubectl(ours);
    await restarted(2);
    await shop.allReady(4);
    assert.equal(shop.seen.length, 12);
    assert.equal((await state()).history?.[0]?.restarted, 4);
    const isBack = async () => {
      const { metadata, status } = await shop.watcher();
      const isGone = metadata.annotations?.['k8spatterns.io/observed'] === undefined;
      return status?.appliedHash !== undefined && isGone && status;
    };
    const back = await eventually(isBack, {
      ...patience,
      message: 'the running operator has its state in status',
    });
    assert.deepEqual([back.restartCount, back.history?.length, back.pending], [2, 2, undefined]);
  });

  it('in its place when the operator starts: what is seen then is the baseline, and that is said once', async (t) => {
    const shop = await Shop.watched(t, 2);
    const { client, namespace } = shop;
    const watcher = () => shop.watcher();
    const state = async (): Promise<ConfigWatcherStatus> =>
      JSON.parse((await watcher()).metadata.annotations?.['k8spatterns.io/observed'] ?? '{}');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(2);
    await shop.stopOperator();
    await controlPlane.kubectl(['apply', '--namespace', namespace, `--filename=${bookCrd}`]);
    await eventually(async () => (await watcher()).status === undefined, patience);
    await shop.patchConfigMap({ data: { message: 'third' } });

    const operator = new OperatorProcess(t, namespace);
    const { appliedHash, restartCount } = await eventually(async () => {
      const found = await state();
      return found.appliedHash !== undefined && found;
    }, patience);
    await shop.quiet();
    assert.deepEqual([shop.seen.length, restartCount], [4, 0], 'nothing is restarted');
    assert.deepEqual([(await state()).appliedHash, (await state()).pending], [appliedHash, undefined]);
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'fourth' } });
    await eventually(async () => {
      const found = await state();
      return found.restartCount === 1 && found.pending === undefined;
    }, patience);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 6, 'the next edit restarts each Pod once');
    assert.equal((await watcher()).status, undefined);

    await shop.untilEvent('StatusUnavailable');
    const { items } = await client.list(events, { namespace });
    const told = items.filter(({ reason }) => reason === 'StatusUnavailable');
    assert.deepEqual(
      told.map(({ type, series }) => [type, series?.count]),
      [['Warning', undefined]],
    );
    const lines = operator.output.split('\n').filter((line) => line.includes('has no status'));
    assert.equal(lines.length, 1, lines.join('\n'));
  });

  it("the second group's manifests work beside the first, on the same Pods", async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await controlPlane.kubectl(['apply', '--server-side', '--kustomize=crds/com']);
    await controlPlane.kubectl([
      ...['wait', '--for=condition=Established', '--timeout=30s'],
      'crd/configwatchers.k8spatterns.com',
    ]);
    const com = '../shared/books/k8spatterns/com';
    for (const file of ['operator-web-app.yml', 'operator-config-watcher-sample.yml']) {
      await controlPlane.kubectl(['apply', `--namespace=${namespace}`, `--filename=${com}/${file}`]);
    }
    await shop.allReady(1);
    await shop.startOperator();
    // As the sample has it, which names no strategy.
    await shop.watch({ strategy: { type: 'Auto' } });
    await shop.baselined();
    const key = { namespace, name: 'webapp-config-watcher' };
    const status = async () => (await client.get(configWatchersCom, key)).status;
    await eventually(async () => (await status())?.appliedHash !== undefined, patience);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(async () => (await status())?.history?.length === 1, patience);
    await shop.until('both are done', ({ history }) => history?.length === 1);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2, 'watchers of both groups restart a Pod once');
  });
});

describe('the second group', () => {
  it('is followed when it is installed after the operator has started, which goes on with the first', async (t) => {
    await controlPlane.kubectl(['delete', '--kustomize=crds/com', '--ignore-not-found', '--timeout=60s']);
    const shop = await Shop.watched(t, 1);
    const { client, namespace } = shop;
    const labels = { app: 'webapp' };
    await shop.createConfigMap({ message: 'first' }, 'other-config');
    const key = { namespace, name: 'of-the-second-group' };
    const spec = { configMap: 'other-config', podSelector: labels, ...atOnce };
    await controlPlane.kubectl(['apply', '--server-side', '--kustomize=crds/com']);
    // The API server may need a moment to serve the kind.
    await eventually(() => client.create(configWatchersCom, { metadata: key, spec }), patience);
    const status = async () => (await client.get(configWatchersCom, key)).status ?? {};
    await eventually(async () => (await status()).appliedHash !== undefined, patience);
    await shop.patchConfigMap({ data: { message: 'second' } }, 'other-config');
    await eventually(async () => {
      const { restartCount, pending } = await status();
      return restartCount === 1 && pending === undefined;
    }, patience);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2, 'a watcher of it restarts the Pod');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3, 'and so does one of the first group');
  });
});

describe('a ConfigWatcher outlives', () => {
  it('an API server that dies in mid-restart: each Pod is restarted once', async (t) => {
    const shop = await inMidRestart(t);
    await controlPlane.stopApiServer();
    await controlPlane.startApiServer();
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([shop.seen.length, lastRestart?.restarted], [8, 4]);
  });

  it('the loss of the past in mid-restart, which leaves its watches without a place to go on from', async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(4);
    const operator = new OperatorProcess(t, shop.namespace);
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length > 4, { ...patience, interval: 10 });
    await controlPlane.stopApiServer();
    await compact(controlPlane);
    await controlPlane.startApiServer();
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([shop.seen.length, lastRestart?.restarted], [8, 4]);
    const expired = /^informer_expired_total\{resource="(pods|configmaps)[^}]*\} [1-9]/m;
    await eventually(async () => expired.test(await operator.metrics()), {
      ...patience,
      message: 'a watch could not go on from where it was',
    });
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.restarted(2);
    await shop.allReady(4);
    assert.equal(shop.seen.length, 12);
  });

  it('the removal of its CRD, with which nothing is restarted, and its return', async (t) => {
    const shop = await Shop.watched(t, 2);
    await controlPlane.kubectl(['delete', 'crd/configwatchers.k8spatterns.io', '--timeout=60s']);
    await shop.patchConfigMap({ data: { message: 'while there was no watcher' } });
    await controlPlane.kubectl(ours);
    // The API server may need a moment to serve the kind again.
    await eventually(() => shop.watch(atOnce), patience);
    await shop.baselined();
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'what the new watcher sees first is its baseline');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });
});

// The last one: the API server may need a moment to serve the first group again.
describe('the second group alone', () => {
  it('restarts each Pod once by the rollout of its owner, which has an annotation of this group', async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const key = { namespace, name: 'of-the-second-group' };
    await controlPlane.kubectl(['apply', '--server-side', '--kustomize=crds/com']);
    await controlPlane.kubectl(['delete', 'crd/configwatchers.k8spatterns.io', '--timeout=60s']);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    const spec = { configMap: 'webapp-config', podSelector: { app: 'webapp' }, ...atOnce };
    // The API server may need a moment to serve the kind.
    const watcher = await eventually(
      () => client.create(configWatchersCom, { metadata: key, spec }),
      patience,
    );
    assert.equal(watcher.spec.strategy?.type, 'Auto');
    await shop.startOperator();
    const status = async () => (await client.get(configWatchersCom, key)).status ?? {};
    await eventually(async () => (await status()).appliedHash !== undefined, patience);
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, strategyInUse } = await eventually(async () => {
      const found = await status();
      return found.restartCount === 1 && found.pending === undefined && found;
    }, patience);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, strategyInUse, shop.seen.length], [3, 'Auto', 6]);
    const { spec: of } = await client.get(deployments, { namespace, name: 'webapp' });
    assert.deepEqual(of?.template?.metadata?.annotations, {
      'k8spatterns.com/restarted-for.of-the-second-group': lastRestart?.id,
    });
  });
});
