/** The ConfigWatcher on a real API server with the real Deployment, ReplicaSet and disruption controllers. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { isInvalid } from '../../src/runtime/client/api-error.ts';
import { setPaused } from './configwatcher-owner.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { books, events, podDisruptionBudgets, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const patience = { timeout: 40_000 };

/** The digest that a Secret with this password alone has under the key of the installation, with each field behind its length. */
async function keyedDigest({ client, namespace }: Shop, name: string, password: string): Promise<string> {
  const { data } = await client.get(secrets, { namespace, name: 'atwatch-hash-key' });
  const digest = createHmac('sha256', Buffer.from(data?.key ?? '', 'base64'));
  for (const field of ['Secret', name, 'present', 'data', 'password', password]) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(field));
    digest.update(length).update(field);
  }
  return digest.digest('hex');
}

function digestOf(hash = ''): string {
  return hash.slice(hash.indexOf(':') + 1);
}

describe('a ConfigWatcher', { concurrency: 3 }, () => {
  it('restarts the Pods once when the content changes, and at nothing else', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    await shop.startOperator();
    await shop.watch();
    const baseline = await shop.baselined();
    assert.equal(baseline.matchedPods, 3);

    await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' }, annotations: { note: 'x' } } });
    await shop.quiet();
    assert.equal(shop.seen.length, 3, 'a metadata edit restarts nothing');

    await shop.patchConfigMap({ data: { message: 'second' } });
    const status = await shop.restarted(1);
    await shop.allReady(3);
    assert.equal(shop.seen.length, 6);
    assert.equal(status.lastRestart?.restarted, 3);
    assert.deepEqual(status.lastRestart?.trigger, {
      kind: 'ConfigMap',
      name: 'webapp-config',
      changedKeys: ['message'],
      manager: 'atwatch-test',
    });
    assert.notEqual(status.appliedHash, baseline.appliedHash);
    assert.equal(JSON.stringify(status).includes('second'), false);
    await shop.quiet();
    assert.equal(shop.seen.length, 6, 'nothing is restarted after that');
  });

  it('finds at its start what changed while it was down, and nothing else', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first', extra: 'to be removed' });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch();
    await shop.baselined();
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'a start without an edit restarts nothing');
    await shop.stopOperator();
    await shop.patchConfigMap({ data: { extra: null } });
    await shop.startOperator();
    const status = await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
    assert.equal(status.lastRestart?.trigger?.changedKeys, undefined);
  });

  it('spares the Pods that are newer than an edit that was made while it was down', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch();
    const { lastChangeTime = '' } = await shop.baselined();
    await shop.stopOperator();
    // Both spans are whole seconds by the API server's clock, and one more for API servers whose clocks differ.
    const later = (time: number) => eventually(() => Date.now() >= time, { message: 'a later second' });
    await later(Date.parse(lastChangeTime) + 4000);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await later(Date.now() + 3000);
    const [old, kept] = await shop.allReady(2);
    await client.delete(pods, { namespace, name: old?.metadata.name ?? '' });
    await shop.allReady(2);
    await shop.startOperator();
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedFresh], [1, 1]);
    const left = await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
    assert.equal(
      left.some(({ metadata }) => metadata.uid === kept?.metadata.uid),
      false,
    );
  });

  it('waits for a PodDisruptionBudget, says so, and goes on by itself', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    const selector = { matchLabels: { app: 'webapp' } };
    const budget = await client.create(podDisruptionBudgets, {
      metadata: { namespace, name: 'webapp' },
      spec: { minAvailable: 2, selector },
    });
    await shop.startOperator();
    await shop.watch();
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the eviction is refused', ({ pending }) => pending?.reason === 'EvictionBlocked');
    assert.equal(shop.seen.length, 2);
    const key = { namespace, name: budget.metadata.name };
    await client.patch(podDisruptionBudgets, key, { type: 'merge', body: { spec: { minAvailable: 1 } } });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  it('two watchers on the same Pods restart them once', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator();
    // Both have to see the change before the first of them restarts Pods.
    const debounce = { quiet: '6s' };
    await shop.watch({ debounce });
    await shop.watch({ debounce }, 'second-watcher');
    await shop.baselined();
    await shop.baselined('second-watcher');
    await shop.patchConfigMap({ data: { message: 'second' } });
    for (const name of ['webapp-config-watcher', 'second-watcher']) {
      await shop.until('both are done', ({ pending, history }) => history?.length === 1 && !pending, {
        name,
      });
    }
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  it('restarts the Pods of a StatefulSet', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2, 'StatefulSet');
    await shop.startOperator();
    await shop.watch({ strategy: { type: 'Delete' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  it('under RolloutRestart lets the Deployment replace its Pods', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch({ strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    const key = { namespace: shop.namespace, name: 'webapp' };
    await setPaused(shop, true);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const held = await shop.until('the pause is told', ({ pending }) => pending?.reason === 'Stalled');
    assert.equal(held.conditions?.find(({ type }) => type === 'Stalled')?.reason, 'Paused');
    assert.equal(shop.seen.length, 2);
    await setPaused(shop, false);
    const status = await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
    const { spec } = await shop.client.get(deployments, key);
    assert.deepEqual(spec?.template?.metadata?.annotations, {
      'k8spatterns.io/restarted-for.webapp-config-watcher': status.lastRestart?.id,
    });
    const body = {
      metadata: { uid: 'another' },
      spec: { template: { metadata: { annotations: { x: 'y' } } } },
    };
    await assert.rejects(
      shop.client.patch(deployments, key, { type: 'merge', body }),
      isInvalid,
      'a patch meant for another Deployment of the name is refused',
    );
  });

  it('says what it would do, waits for its window and spares who does not use it', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const { metadata } = await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    // A controller that brings nothing back; a ConfigMap stands in for it.
    const { name, uid = '' } = metadata;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true };
    await client.create(pods, {
      metadata: { namespace, name: 'other', labels: { app: 'webapp' }, ownerReferences: [owner] },
      spec: { containers: [{ name: 'app', image: 'mini-http-server' }] },
    });
    await shop.startOperator();
    // Half an hour off, whenever the test runs.
    const minute = (new Date().getUTCMinutes() + 30) % 60;
    const windows = [{ schedule: `${minute} * * * *`, duration: '5m' }];
    await shop.watch({ debounce: { quiet: '0s' }, onlyReferencing: true, dryRun: true, windows });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const dry = await shop.until('it is told', ({ pending }) => pending?.reason === 'DryRun');
    assert.equal(dry.stalePods, 1);
    const wouldBe = async () => {
      const { items } = await client.list(events, { namespace });
      return items.some(({ note }) => note === 'dry run: 1 Pod would be restarted');
    };
    await eventually(wouldBe, { ...patience, message: 'an Event says what would be restarted' });
    await shop.edit({ dryRun: false });
    const { conditions } = await shop.until(
      'it waits for the window',
      ({ pending }) => pending?.reason === 'Window',
    );
    const { message = '' } = conditions?.find(({ type }) => type === 'Progressing') ?? {};
    assert.match(message, new RegExp(`next window \\(until .*:${String(minute).padStart(2, '0')}:00Z\\)$`));
    await shop.stopOperator();
    await shop.startOperator();
    await shop.edit({ windows: [] });
    const { lastRestart } = await shop.restarted(1);
    assert.equal(lastRestart?.restarted, 1);
    const left = (await shop.pods()).map(({ metadata: { name } }) => name);
    assert.ok(left.includes('other'), 'a Pod without a reference was restarted');
  });

  it('watches Secrets where it may, and publishes no hash that could be guessed', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    const key = { namespace, name: 'webapp-secret' };
    const data = (password: string) => ({ data: { password: Buffer.from(password).toString('base64') } });
    await client.create(secrets, { metadata: key, ...data('1234') });
    await shop.deploy(1);
    await shop.watch({ sources: [{ kind: 'Secret', name: key.name }] });
    await shop.startOperator();
    const refused = await shop.until('the missing right is told', ({ conditions }) =>
      Boolean(conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'Forbidden')),
    );
    assert.equal(refused.appliedHash, undefined);
    await shop.stopOperator();

    await shop.startOperator({ secretAccess: true });
    const { sources } = await shop.baselined();
    assert.match(sources?.[1]?.hash ?? '', /^v1-hmac-[0-9a-f]{8}:[0-9a-f]{64}$/);
    assert.equal(digestOf(sources?.[1]?.hash), await keyedDigest(shop, key.name, '1234'));
    await shop.stopOperator();
    await shop.startOperator({ secretAccess: true });
    await shop.quiet();
    assert.equal(shop.seen.length, 1, 'the key is the same after a restart');
    await client.patch(secrets, key, { type: 'merge', body: data('5678') });
    const status = await shop.restarted(1);
    const trigger = { kind: 'Secret', name: key.name, changedKeys: ['password'], manager: 'atwatch-test' };
    assert.deepEqual(status.lastRestart?.trigger, trigger);

    await shop.allReady(1);
    await shop.stopOperator();
    await client.delete(secrets, { namespace, name: 'atwatch-hash-key' });
    await shop.startOperator({ secretAccess: true });
    const after = await shop.until(
      'the hash has the new key',
      (now) => now.sources?.[1]?.hash !== status.sources?.[1]?.hash,
    );
    const digests = [status, after].map((one) => digestOf(one.sources?.[1]?.hash));
    assert.notEqual(digests[0], digests[1], 'the same password under another key');
    assert.equal(digests[1], await keyedDigest(shop, key.name, '5678'));
    await shop.quiet();
    assert.deepEqual(
      [(await shop.status()).restartCount, shop.seen.length],
      [1, 2],
      'a lost key is no change',
    );
  });
});

describe('a ConfigWatcher', { concurrency: 3 }, () => {
  it('in a ConfigMap itself: the annotation names the Pods', {
    timeout,
    skip: existsSync(books) ? false : `the book's manifests are not here (${books})`,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const applied = () => eventually(async () => (await shop.ownState()).includes('"appliedHash"'), patience);
    await shop.applyBook('controller-web-app.yml');
    await shop.allReady(1);
    await shop.startOperator({ annotationController: true });
    await applied();
    await shop.stopOperator();
    await shop.patchConfigMap({ data: { message: 'while it was down' } });
    await shop.startOperator({ annotationController: true });
    await eventually(async () => (await shop.ownState()).includes('"restartCount":1'), patience);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
    assert.equal((await shop.ownState()).includes('while it was down'), false);

    await shop.stopOperator();
    await shop.startOperator({ annotationController: true });
    await shop.patchConfigMap({ metadata: { annotations: { 'k8spatterns.io/podDeleteSelector': '' } } });
    const told = await eventually(async () => {
      const { items } = await client.list(events, { namespace });
      return items.find(({ reason }) => reason === 'InvalidSpec');
    }, patience);
    assert.deepEqual([told.regarding?.kind, told.type], ['ConfigMap', 'Warning']);
    await shop.patchConfigMap({ data: { message: 'selects nothing' } });
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'an empty selector restarts nothing');
    const { items } = await client.list(events, { namespace });
    const warnings = items.filter(({ reason }) => reason === 'InvalidSpec');
    assert.deepEqual(
      warnings.map(({ series }) => series?.count ?? 1),
      [1],
      'it is told once',
    );
  });

  it("in a ConfigMap of the book's second group, too, and lets no value out", {
    timeout,
    skip: existsSync(books) ? false : `the book's manifests are not here (${books})`,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const canary = 'canary-c07f';
    const args = ['--annotation-controller'];
    const operator = new OperatorProcess(t, namespace, args);
    await shop.applyBook('controller-web-app.yml', 'com');
    await eventually(async () => (await shop.ownState()).includes('"appliedHash"'), patience);
    await shop.allReady(1);
    await shop.patchConfigMap({ data: { message: canary } });
    await eventually(async () => (await shop.ownState()).includes('"restartCount":1'), patience);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
    const outputs = {
      log: operator.output,
      metrics: await operator.metrics(),
      state: await shop.ownState(),
      events: JSON.stringify(await client.list(events, { namespace })),
    };
    assert.match(outputs.log, /"msg":"decided"/);
    for (const [name, text] of Object.entries(outputs)) {
      assert.equal(text.includes(canary), false, `the value is in the ${name}`);
    }
  });

  it("runs the book's manifests unchanged", {
    timeout,
    skip: existsSync(books) ? false : `the book's manifests are not here (${books})`,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.startOperator();
    await shop.applyBook('operator-web-app.yml');
    await shop.applyBook('operator-config-watcher-sample.yml');
    await shop.allReady(1);
    await shop.baselined();
    await shop.until('the Pod is counted', ({ matchedPods }) => matchedPods === 1);
    await shop.patchConfigMap({ data: { message: 'Greets from your smooth operator!' } });
    await shop.restarted(1);
    await eventually(() => shop.seen.length === 2, patience);
  });
});
