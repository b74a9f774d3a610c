/** Crashes, failovers and storms of edits: one restart per change on a real API server, whatever happens. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { contentHash } from '../../src/configwatcher/plan/config-hash.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, isReady, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('killed between batches goes on where it was, and lets no value out', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const password = Buffer.from('canary-5ec7').toString('base64');
    const applied = 'canary-a991';
    const canaries = ['canary-4f1d', 'canary-9b7e', 'canary-5ec7', applied, password];
    const secret = { metadata: { namespace, name: 'webapp-secret' }, data: { password } };
    await client.create(secrets, secret);
    await shop.createConfigMap({ message: canaries[0] ?? '' });
    // What `kubectl apply` leaves there holds all the data.
    const lastApplied = JSON.stringify({ kind: 'ConfigMap', data: { message: applied } });
    const annotations = { note: applied, 'kubectl.kubernetes.io/last-applied-configuration': lastApplied };
    await shop.patchConfigMap({ metadata: { annotations } });
    await shop.deploy(4);
    const operator = () => new OperatorProcess(t, namespace, ['--secret-access']);
    const processes = [operator()];
    await shop.watch({ sources: [{ kind: 'Secret', name: 'webapp-secret' }], cooldown: { base: '0s' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: canaries[1] } });
    for (const seen of [5, 7]) {
      await eventually(() => shop.seen.length >= seen, { timeout: 40_000, interval: 10 });
      await processes.at(-1)?.kill();
      assert.ok((await shop.status()).pending?.started, 'the restart was under way');
      processes.push(operator());
    }
    const status = await shop.restarted(1);
    await shop.allReady(4);
    await shop.quiet();
    assert.equal(shop.seen.length, 8, 'each Pod was restarted once');
    assert.equal(status.lastRestart?.restarted, 4);

    await eventually(async () => (await client.list(events, { namespace })).items.length > 2, {
      timeout: 40_000,
    });
    const outputs = {
      log: processes.map(({ output }) => output).join('\n'),
      metrics: (await processes.at(-1)?.metrics()) ?? '',
      status: JSON.stringify(await shop.status()),
      events: JSON.stringify(await client.list(events, { namespace })),
    };
    assert.match(outputs.log, /"msg":"decided"/);
    assert.match(outputs.metrics, /atwatch_configwatcher_/);
    for (const [name, text] of Object.entries(outputs)) {
      for (const canary of canaries) assert.equal(text.includes(canary), false, `${canary} in the ${name}`);
    }
  });

  it('started ten times and failed over without an edit restarts nothing', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.watch(atOnce);
    await shop.startOperator();
    const { appliedHash } = await shop.baselined();
    for (let start = 0; start < 10; start++) {
      await shop.stopOperator();
      await shop.startOperator();
    }
    await shop.stopOperator();
    const leader = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
    await leader.logged('"msg":"leading"');
    const standby = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
    await standby.logged('"msg":"ready"');
    await leader.kill('SIGTERM');
    await standby.logged('"msg":"leading"');
    await shop.quiet();
    const status = await shop.status();
    assert.deepEqual([shop.seen.length, status.history, status.pending], [2, [], undefined]);
    assert.equal(status.appliedHash, appliedHash);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4, 'the standby that leads now works');
  });

  it('whose leader is killed in mid-restart, before an edit, goes on with the standby', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    await shop.watch(atOnce);
    const leader = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
    await shop.baselined();
    const standby = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
    await standby.logged('"msg":"ready"');
    // In the middle of one restart, and another edit before anybody has taken over.
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length > 3, { timeout: 40_000, interval: 10 });
    await leader.kill();
    await shop.patchConfigMap({ data: { message: 'third' } });
    assert.equal(standby.output.includes('"msg":"leading"'), false);
    await standby.logged('"msg":"leading"');
    const { restartCount, history = [] } = await shop.until(
      'the last content is applied',
      ({ pending, lastRestart }) => pending === undefined && lastRestart?.completionTime !== undefined,
    );
    await shop.allReady(3);
    await shop.quiet();
    assert.equal(restartCount, 2, 'the one that was overtaken, and the one for the last content');
    assert.equal(history[0]?.restarted, 3);
    // One to three Pods of the first restart, by how soon the leader died, and then each that was there.
    const { length } = shop.seen;
    assert.ok(length >= 3 + 1 + 3 && length <= 3 + 3 + 3, `${length} Pods in all`);
    assert.equal((await shop.status()).restartCount, 2, 'and no more');
  });

  it('that other processes take over is done with an owner once as many of its Pods serve as before', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const notReady = async () => (await shop.pods()).filter((pod) => !isReady(pod));
    const places = async () => {
      const { pending, stalePods, restartCount } = await shop.status();
      const owners = pending?.owners?.map(({ wanted, available }) => ({ wanted, available }));
      return { reason: pending?.reason, owners, stalePods, restartCount };
    };
    const asBefore = { reason: 'InProgress', owners: [{ wanted: 3, available: 2 }], restartCount: 0 };
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    shop.breaksPods = true;
    const scaled = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
    await client.patch(deployments, { namespace, name: 'webapp' }, scaled);
    // A Pod that has not started would get the new content by itself.
    await eventually(async () => (await notReady()).some(({ status }) => status?.phase === 'Running'), {
      timeout: 40_000,
      message: 'the third Pod has started, and does not get Ready',
    });
    shop.breaksPods = false;
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { maxUnavailable: 2 } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, {
      timeout: 60_000,
      message: 'the Pod that does not serve goes, and one that does',
    });
    await shop.until('one old Pod is left', ({ stalePods }) => stalePods === 1);
    await shop.stopOperator();
    assert.deepEqual(await places(), { ...asBefore, stalePods: 1 });

    await shop.startOperator();
    const [first] = await notReady();
    await shop.getsReady(first?.metadata.name ?? '');
    await eventually(() => shop.seen.length === 6, { timeout: 60_000, message: 'the last old Pod goes' });
    await shop.until('no old Pod is left', ({ stalePods }) => stalePods === 0);
    await shop.stopOperator();
    assert.deepEqual(await places(), { ...asBefore, stalePods: 0 });

    await shop.startOperator();
    await shop.quiet();
    assert.deepEqual(await places(), { ...asBefore, stalePods: 0 }, 'one Pod that serves is not enough');
    const [second] = await notReady();
    await shop.getsReady(second?.metadata.name ?? '');
    const { lastRestart, conditions } = await shop.restarted(1);
    assert.equal((await notReady()).length, 1, 'the third one is not awaited');
    assert.deepEqual(lastRestart?.owners, [
      { name: 'Deployment/webapp', restarted: 3, available: 2, reason: 'Available' },
    ]);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [3, 0, 6]);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
  });

  it('folds edits, and counts contents and not objects', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await shop.startOperator();
    // Longer than a slow machine takes from one edit to the next.
    await shop.watch({ debounce: { quiet: '6s' }, cooldown: { base: '0s' } });
    await shop.baselined();
    for (let edit = 1; edit <= 20; edit++) {
      await shop.patchConfigMap({ data: { message: `edit ${edit}` } });
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    await shop.restarted(1);
    await shop.allReady(1);
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'twenty edits in a second are one restart');

    await shop.edit({ debounce: { quiet: '0s' } });
    const key = { namespace, name: 'webapp-config' };
    await client.delete(configMaps, key);
    await shop.until('the absence is told', ({ conditions }) =>
      Boolean(conditions?.some(({ type, status }) => type === 'SourceAvailable' && status === 'False')),
    );
    await shop.createConfigMap({ message: 'edit 20' });
    await shop.until('the source is back', ({ conditions }) =>
      Boolean(conditions?.some(({ type, status }) => type === 'SourceAvailable' && status === 'True')),
    );
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'the same data under the same name is no change');
    await client.delete(configMaps, key);
    await shop.createConfigMap({ message: 'another' });
    await shop.restarted(2);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('is bounded by its cooldown when the edits do not end', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await shop.startOperator();
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '1s', max: '4s' } });
    await shop.baselined();
    const begun = performance.now();
    for (let edit = 1; performance.now() < begun + 4000; edit++) {
      await shop.patchConfigMap({ data: { message: `edit ${edit}` } });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await shop.patchConfigMap({ data: { message: 'the last' } });
    const settled = await shop.until('all edits are applied', ({ pending }) => pending === undefined);
    // Starts are at least the base apart, give or take the second that times in status are rounded to. How far
    // the gap doubles depends on which of them had to wait: after a restart longer than the gap none does.
    const most = 2 + Math.floor((performance.now() - begun) / 1000);
    const { restartCount = 0 } = settled;
    assert.ok(restartCount >= 2 && restartCount <= most, `${restartCount} restarts, ${most} at most`);
    await shop.allReady(1);
    // A Pod that lives for a second only may never be seen here.
    assert.ok(shop.seen.length <= 1 + restartCount, `${shop.seen.length} Pods of ${restartCount} restarts`);
  });

  it('has the last of fifty edits a second in all Pods, for as few restarts as its cooldown allows', {
    timeout,
  }, async (t) => {
    const replicas = 3;
    const base = 2000;
    const shop = await Shop.watched(t, replicas, {
      debounce: { quiet: '1s', max: '3s' },
      cooldown: { base: `${base / 1000}s`, max: '1m' },
    });
    await shop.olderThanEdits();
    const begun = performance.now();
    const edits: Promise<unknown>[] = [];
    for (let edit = 1; edit <= 500; edit++) {
      // The next one comes in time, however long the API server needs for this one.
      edits.push(shop.patchConfigMap({ data: { message: `edit ${edit}` } }));
      await eventually(() => performance.now() >= begun + 20 * edit, { interval: 5 });
    }
    await Promise.all(edits);
    const lastSecond = Math.floor(Date.now() / 1000) * 1000;
    const { data = {} } = await shop.patchConfigMap({ data: { message: 'the last' } });
    const lastHash = contentHash({ kind: 'ConfigMap', name: 'webapp-config' }, { data });
    const { restartCount = 0, history = [] } = await shop.until(
      'the last content is applied',
      ({ pending, appliedHash }) => pending === undefined && appliedHash === lastHash,
    );
    const most = 1 + Math.ceil((performance.now() - begun) / base);
    const left = await shop.allReady(replicas);
    await shop.quiet();
    const settled = await shop.status();
    assert.deepEqual([settled.restartCount, settled.appliedHash], [restartCount, lastHash], 'and no more');
    assert.ok(restartCount >= 1 && restartCount <= most, `${restartCount} restarts, ${most} at most`);
    const starts = history.map(({ startTime = '' }) => Date.parse(startTime)).reverse();
    const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    assert.ok(
      gaps.every((gap) => gap >= base),
      `${gaps} ms between the starts`,
    );
    for (const { metadata } of left) {
      const created = Date.parse(metadata.creationTimestamp ?? '');
      assert.ok(created >= lastSecond, `${metadata.name} is of ${metadata.creationTimestamp}`);
    }
    assert.ok(shop.seen.length <= replicas * (1 + restartCount), `${shop.seen.length} Pods in all`);
  });
});
