/** `kubectl configwatcher`, through kubectl itself, on the real API server with the real Deployment controller. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { runKubectl } from '../fixtures/kubectl-plugin.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 120_000;

function run({ namespace }: Shop, ...args: string[]) {
  return runKubectl(['configwatcher', ...args, '--namespace', namespace]);
}

async function ok(shop: Shop, ...args: string[]): Promise<string> {
  const { code, output, errors } = await run(shop, ...args);
  assert.equal(code, 0, `${args.join(' ')}: ${errors}`);
  return output;
}

describe('kubectl configwatcher', { concurrency: 2 }, () => {
  it('waits until an edit of a moment ago runs everywhere, and says why a Pod was restarted', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2);
    assert.match(
      (await run(shop, 'wait', 'webapp-config-watcher')).errors,
      /^webapp-config-watcher: 2 Pods with the present content\.\n$/,
    );
    await shop.patchConfigMap({ data: { message: 'second' } });
    const ready = await ok(shop, 'wait', 'webapp-config-watcher', '--timeout', '100s', '-o', 'name');
    assert.equal(ready, 'configwatcher.k8spatterns.io/webapp-config-watcher\n');
    assert.equal((await shop.status()).restartCount, 1);
    const [pod] = await shop.allReady(2);
    const story = await ok(shop, 'why', `pod/${pod?.metadata.name}`);
    assert.match(story, /^configwatcher\/webapp-config-watcher selects pod\/webapp-[\w-]+: UpToDate$/m);
    assert.match(story, /^ {2}pending +nothing: the Pods run with the present content$/m);
    assert.match(
      story,
      /^ {2}source +ConfigMap webapp-config, last written (?:now|(?:\d+[ms])+ ago) with atwatch-test$/m,
    );
    assert.match(
      story,
      /^ {2}restart +(?:now|(?:\d+[ms])+ ago): 2 Pods, because of ConfigMap webapp-config \(message\); pod\/webapp-[\w-]+ was made by it$/m,
    );
    const told = JSON.parse(await ok(shop, 'why', `pod/${pod?.metadata.name}`, '-o', 'json'));
    const [watcher] = told.watchers;
    assert.deepEqual(
      [told.subject, watcher.name, watcher.state, watcher.stalePods],
      [`pod/${pod?.metadata.name}`, 'webapp-config-watcher', 'UpToDate', 0],
    );
    assert.equal(watcher.sources[0].lastWritten.manager, 'atwatch-test');
    assert.deepEqual(
      [watcher.restarts[0].trigger.changedKeys, watcher.restarts[0].madeIt],
      [['message'], true],
    );
    const [header, row] = (await ok(shop, 'list')).split('\n');
    assert.match(header ?? '', /^NAME +STATE +SOURCES +PODS +STALE +LAST-RESTART +DETAIL$/);
    assert.match(
      row ?? '',
      /^webapp-config-watcher +UpToDate +webapp-config +2 +0 +(?:now|(?:\d+[ms])+ ago)$/,
    );
  });

  it('says what a change waits for, and lets it begin', { timeout }, async (t) => {
    const windows = [{ schedule: '0 0 1 1 *', duration: '1m', timeZone: 'UTC' }];
    const shop = await Shop.watched(t, 1, { windows });
    assert.match(
      await ok(shop, 'restart', 'webapp-config-watcher'),
      /^Nothing waits for webapp-config-watcher: /,
    );
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the change waits', ({ pending }) => pending?.reason === 'Window');
    assert.match(
      await ok(shop, 'why', 'deploy/webapp'),
      /^ {2}pending +1 Pod with an older content, of ConfigMap webapp-config: a change waits for the next window/m,
    );
    const late = await run(shop, 'wait', 'webapp-config-watcher', '--timeout', '1s');
    assert.equal(late.code, 124);
    assert.match(
      late.errors,
      /webapp-config-watcher is not up to date after 1s: Window, a change waits for the next window/,
    );
    assert.match(
      await ok(shop, 'restart', 'webapp-config-watcher'),
      /^The restart of 1 Pod for webapp-config-watcher begins now; /,
    );
    await shop.restarted(1);
    const { kind, metadata } = JSON.parse(await ok(shop, 'restart', 'webapp-config-watcher', '-o', 'json'));
    assert.deepEqual([kind, metadata.name], ['ConfigWatcher', 'webapp-config-watcher']);
  });

  it('ends with 1 when new Pods do not become available, and refuses to restart what is suspended', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2, { strategy: { progressDeadlineSeconds: 5 } });
    shop.breaksPods = true;
    await shop.patchConfigMap({ data: { message: 'broken' } });
    // There is no node: which of the two reasons is found first depends on the scheduler.
    const stuck = await run(shop, 'wait', 'webapp-config-watcher');
    assert.equal(stuck.code, 1);
    assert.match(stuck.errors, /webapp-config-watcher is stuck: (Unschedulable|NewPodsNotAvailable), /);
    assert.match(
      await ok(shop, 'doctor'),
      /^WARN {2}webapp-config-watcher in test-\w+: (Unschedulable|NewPodsNotAvailable), .*\n {6}do: docs\/operations\.md says/m,
    );
    await shop.edit({ suspend: true });
    const refused = await run(shop, 'restart', 'webapp-config-watcher');
    assert.deepEqual(
      [refused.code, refused.errors.includes('has suspend: true, which stands above this: kubectl patch')],
      [1, true],
    );
  });

  it('waits on where an edit mends what is stuck, also before an operator has seen that', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2);
    shop.crashesPods = true;
    await shop.patchConfigMap({ data: { message: 'broken' } });
    await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    await shop.stopOperator();
    shop.crashesPods = false;
    await shop.patchConfigMap({ data: { message: 'mended' } });
    const early = await run(shop, 'wait', 'webapp-config-watcher', '--timeout', '3s');
    assert.equal(early.code, 124, early.errors);
    const waiting = run(shop, 'wait', 'webapp-config-watcher', '--timeout', '100s');
    await shop.startOperator();
    const { code, errors } = await waiting;
    assert.equal(code, 0, errors);
    assert.match(errors, /^webapp-config-watcher: 2 Pods with the present content\.$/m);
    await shop.allReady(2);
  });

  it('ends with 1 where a change was given up, and says what is left', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2, { suspend: true });
    await shop.createConfigMap({ message: 'other' }, 'other-config');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the change waits', ({ pending }) => pending?.reason === 'Suspended');
    await shop.edit({ configMap: 'other-config' });
    const { code, errors } = await run(shop, 'wait', 'webapp-config-watcher', '--timeout', '60s');
    assert.equal(code, 1, errors);
    assert.match(
      errors,
      /^webapp-config-watcher restarts no further Pod: RestartAbandoned, 2 Pods kept an older content: the spec no longer asks for a restart\.$/m,
    );
  });

  it('lets an edit begin that waits while another one is being restarted for', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2, { cooldown: { base: '10m' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, {
      timeout: 40_000,
      message: 'the first Pod is restarted',
    });
    // One that has not started reads the next content.
    await shop.allReady(2);
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('the edit waits', ({ pending }) => pending?.reason === 'Cooldown');
    assert.match(
      await ok(shop, 'restart', 'webapp-config-watcher'),
      /^The restart of 2 Pods for webapp-config-watcher begins now; /,
    );
    await shop.restarted(2);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 5);
  });

  it('says that no watcher selects it, that there is none, and that no operator has seen one', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    assert.match(
      await ok(shop, 'why', 'deployment/webapp'),
      /^No ConfigWatcher in test-\w+ selects deployment\/webapp: no edit of a ConfigMap restarts it\.\n$/,
    );
    assert.match((await run(shop, 'list')).errors, /^There is no ConfigWatcher in the namespace test-/);
    const { code, errors } = await run(shop, 'wait', 'gone');
    assert.deepEqual(
      [code, errors.replace(/test-\w+/, 'test')],
      [
        1,
        'error: there is no ConfigWatcher "gone" in the namespace test; kubectl configwatcher list -A shows those of all\n',
      ],
    );
    await shop.watch();
    const early = await run(shop, 'restart', 'webapp-config-watcher');
    assert.match(early.errors, /no operator has seen the last edit of the sources of webapp-config-watcher/);
    assert.match(await ok(shop, 'list'), /^webapp-config-watcher +Unseen .* no operator has seen it/m);
    const doctor = await eventually(async () => {
      const finished = await run(shop, 'doctor');
      return finished.output.includes('Unseen') && finished;
    });
    assert.match(doctor.output, /^FAIL {2}webapp-config-watcher in test-\w+: Unseen, /m);
  });

  it('prints ConfigWatchers for the annotations of Reloader, which the API server takes', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    const { client, namespace } = shop;
    const annotations = {
      'reloader.stakater.com/auto': 'true',
      'secretproviderclass.reloader.stakater.com/auto': 'true',
    };
    const body = { metadata: { annotations } };
    await client.patch(deployments, { namespace, name: 'webapp' }, { type: 'merge', body });
    const { code, output, errors } = await run(shop, 'import', 'reloader', '--dry-run');
    assert.equal(code, 0, errors);
    assert.match(errors, /^Deployment test-\w+\/webapp: a SecretProviderClass is not watched: /);
    assert.match(errors, /^1 ConfigWatcher printed; nothing was written\.$/m);
    const reference = 'configwatcher.k8spatterns.io/deployment-webapp\n';
    assert.equal(await ok(shop, 'import', 'reloader', '-o', 'name'), reference);
    assert.equal(JSON.parse(await ok(shop, 'import', 'reloader', '-o', 'json')).kind, 'List');
    await client.create(configWatchers, parse(output));
    const { spec } = await shop.watcher('deployment-webapp');
    assert.deepEqual(
      spec.sources?.map(({ kind, name }) => `${kind} ${name}`),
      ['ConfigMap webapp-config'],
    );
    assert.equal((await run(shop, 'import', 'other')).code, 2);
  });
});
