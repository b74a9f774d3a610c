/** Workloads that ask for restarts themselves, with the shipped operator, the real API server and the real controllers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { AnnotatedShop } from './annotated-shop.ts';
import { eventually } from './support.ts';

const timeout = 240_000;
const key = 'k8spatterns.io/restart-on-change';
const auto = 'reloader.stakater.com/auto';
/** So that a test need not wait for the usual spans. */
const quick = JSON.stringify({
  debounce: { quiet: '500ms' },
  cooldown: { base: '1s', max: '1s' },
  strategy: { canary: false },
});
const asking = { [key]: 'referenced', 'k8spatterns.io/restart-options': quick };

/** Each has one Warning, which was recorded once. */
async function assertWarnedOnce(shop: AnnotatedShop, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const found = (await shop.events(name)).map(({ reason, note, series }) => ({ reason, note, series }));
    assert.equal(found.length, 1, `${name}: ${JSON.stringify(found)}`);
    assert.equal(found[0]?.series, undefined, `${name} is warned again`);
  }
}

describe('a workload with restart-on-change', () => {
  it('has a ConfigWatcher of its own for as long as it asks', { timeout }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    await shop.workload('Deployment', 'web', { annotations: asking, from: ['a'] });
    const watcher = await shop.baselined('deployment-web');
    assert.deepEqual(watcher.spec.sources, [{ kind: 'ConfigMap', name: 'a', optional: false }]);
    assert.deepEqual(watcher.spec.podSelector, { app: 'web' });
    // A template that uses another one.
    await shop.config('b', { key: 'first' });
    await shop.workload('Deployment', 'web', { annotations: asking, from: ['a', 'b'] });
    await shop.untilWatcher('deployment-web', ({ spec }) => spec.sources?.length === 2);
    // What is edited by hand follows from the workload again.
    const place = { namespace: shop.namespace, name: 'deployment-web' };
    await shop.client.patch(configWatchers, place, { type: 'merge', body: { spec: { suspend: true } } });
    await shop.untilWatcher('deployment-web', ({ spec }) => spec.suspend === false);
    await shop.workload('Deployment', 'web', { annotations: { [key]: null }, from: ['a', 'b'] });
    await shop.untilGone('deployment-web');
  });

  it('loses it when it stopped asking while the operator was away, and its garbage is collected with it', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    for (const name of ['one', 'two'])
      await shop.workload('Deployment', name, { annotations: asking, from: ['a'] });
    for (const name of ['one', 'two']) await shop.baselined(`deployment-${name}`);
    await shop.stopOperator();
    await shop.workload('Deployment', 'one', { annotations: { [key]: null }, from: ['a'] });
    await shop.remove('Deployment', 'two');
    await shop.operator(['--annotated-workloads']);
    await shop.untilGone('deployment-one');
    await shop.untilGone('deployment-two');
  });

  it('is warned once of what is wrong, and nothing else happens', { timeout }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    const metadata = { namespace: shop.namespace, name: 'deployment-taken' };
    const foreign = { metadata, spec: { configMap: 'a', podSelector: { app: 'mine' } } };
    await shop.client.create(configWatchers, foreign);
    await shop.workload('Deployment', 'taken', { annotations: asking, from: ['a'] });
    await shop.workload('Deployment', 'wrong', {
      annotations: { ...asking, [key]: 'nonsense' },
      from: ['a'],
    });
    const options = { ...asking, 'k8spatterns.io/restart-options': '{"debouce": {}}' };
    await shop.workload('Deployment', 'options', { annotations: options, from: ['a'] });
    for (const [name, text] of [
      ['json', '{'],
      ['value', '{"debounce": {"quiet": "soon"}}'],
    ] as const) {
      const annotations = { ...asking, 'k8spatterns.io/restart-options': text };
      await shop.workload('Deployment', name, { annotations, from: ['a'] });
    }
    await shop.workload('Deployment', 'empty', { annotations: asking });
    const many = Array.from({ length: 33 }, (_, index) => `configmap/c${index}`).join(', ');
    await shop.workload('Deployment', 'many', { annotations: { ...asking, [key]: many } });
    assert.match(
      await shop.warning('taken', 'ConfigWatcherExists'),
      /left alone: delete it, or create it again under another name/,
    );
    assert.match(await shop.warning('empty', 'NothingToWatch'), /its Pod template refers to no ConfigMap/);
    assert.match(await shop.warning('many', 'InvalidRestartAnnotation'), /33 sources, .* at most 32/);
    assert.match(await shop.warning('wrong', 'InvalidRestartAnnotation'), /must be "referenced"/);
    assert.match(await shop.warning('options', 'InvalidRestartAnnotation'), /no ConfigWatcher has: debouce/);
    assert.match(await shop.warning('json', 'InvalidRestartAnnotation'), /must be a JSON object/);
    assert.match(await shop.warning('value', 'InvalidRestartAnnotation'), /debounce\.quiet/);
    const { items } = await shop.client.list(configWatchers, { namespace: shop.namespace });
    assert.deepEqual(
      items.map((one) => one.metadata.name),
      ['deployment-taken'],
    );
    assert.deepEqual(items[0]?.spec.podSelector, { app: 'mine' });
    const all = ['taken', 'empty', 'many', 'wrong', 'options', 'json', 'value'];
    await assertWarnedOnce(shop, all);
    for (const name of all) await shop.touch('Deployment', name);
    // What the operator looks at after the others it tells of after them.
    await shop.workload('Deployment', 'last', { annotations: { [key]: 'nonsense' } });
    await shop.warning('last', 'InvalidRestartAnnotation');
    await assertWarnedOnce(shop, all);
    // Out of the way, its place is taken.
    await shop.client.delete(configWatchers, metadata);
    await shop.baselined('deployment-taken');
  });

  it('keeps the ConfigWatcher that it has while an annotation is wrong, and is warned once of each mistake', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    await shop.config('b', { key: 'first' });
    const web = (annotations: Readonly<Record<string, string>>) =>
      shop.workload('Deployment', 'web', { annotations: { ...asking, ...annotations }, from: ['a'] });
    await web({});
    await shop.allReady();
    await shop.baselined('deployment-web');
    await shop.untilWatcher('deployment-web', ({ status }) => status?.matchedPods === 1);
    const place = { namespace: shop.namespace, name: 'deployment-web' };
    const watcher = async () => {
      const { metadata, spec, status } = await shop.client.get(configWatchers, place);
      return { uid: metadata.uid, generation: metadata.generation, spec, status };
    };
    const before = await watcher();
    const mistakes = [
      { 'k8spatterns.io/restart-options': '{"debounce": {"quiet": "soon"}}' },
      { [key]: 'configmap/b, nonsense' },
    ];
    for (const [index, mistake] of mistakes.entries()) {
      await web(mistake);
      await eventually(async () => (await shop.events('web')).length === index + 1, {
        message: `a Warning of ${JSON.stringify(mistake)}`,
      });
      await shop.settled();
      assert.deepEqual(await watcher(), before, JSON.stringify(mistake));
    }
    const told = (await shop.events('web')).map(({ reason, series }) => [reason, series]);
    assert.deepEqual(
      told,
      mistakes.map(() => ['InvalidRestartAnnotation', undefined]),
    );
    await web({});
    await shop.olderThanEdits();
    await shop.config('a', { key: 'second' });
    const { metadata } = await shop.restarted('deployment-web', 1);
    await shop.settled();
    assert.deepEqual([metadata.uid, shop.replaced('web')], [before.uid, 1]);
    assert.deepEqual(await shop.restarts(), { 'deployment-web': 1 });
    assert.equal((await shop.events('web')).length, mistakes.length);
  });

  it('is restarted for keys that it uses, alone: #786 and #507 of Reloader', { timeout }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--reloader-annotations']);
    await shop.config('animals', { animal: 'cat', animal2: 'bat' });
    const options = { 'k8spatterns.io/restart-options': quick };
    const keyed = (name: string) => ({
      env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'animals', key: name } } }],
    });
    await shop.workload('Deployment', 'a', { annotations: asking, container: keyed('animal') });
    await shop.workload('Deployment', 'b', {
      annotations: { ...options, [auto]: 'true' },
      container: keyed('animal2'),
    });
    await shop.baselined('deployment-a');
    await shop.baselined('deployment-b');
    await shop.allReady();
    await shop.config('animals', { animal: 'dog', animal2: 'bat' });
    await shop.restarted('deployment-a', 1);
    await shop.config('animals', { animal: 'dog', animal2: 'cow' });
    await shop.restarted('deployment-b', 1);
    await shop.config('animals', { animal: 'dog', animal2: 'cow', animal3: 'pig' });
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { 'deployment-a': 1, 'deployment-b': 1 });
  });

  for (const kind of ['Deployment', 'StatefulSet'] as const) {
    it(`of kind ${kind} leaves alone what another one has made, although its selector matches it`, {
      timeout,
    }, async (t) => {
      const shop = await AnnotatedShop.open(t);
      await shop.operator(['--annotated-workloads']);
      await shop.config('animals', { animal: 'cat' });
      const labels = { tier: 'front' };
      const options = JSON.stringify({ ...JSON.parse(quick), strategy: { type: 'Evict' } });
      const annotations = { ...asking, 'k8spatterns.io/restart-options': options };
      await shop.workload(kind, 'web', { annotations, labels, selector: labels, from: ['animals'] });
      const selector = { ...labels, app: 'web-canary' };
      await shop.workload('Deployment', 'web-canary', { labels, selector, from: ['animals'] });
      await shop.allReady();
      const { spec } = await shop.baselined(`${kind.toLowerCase()}-web`);
      assert.deepEqual(spec.podSelector, labels);
      await shop.config('animals', { animal: 'dog' });
      await shop.restarted(`${kind.toLowerCase()}-web`, 1);
      await shop.allReady();
      assert.deepEqual([shop.replaced('web'), shop.replaced('web-canary')], [1, 0]);
    });
  }

  it('whose selector has expressions alone is restarted once, and no other that they do not select', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    const expressions = [
      { key: 'app', operator: 'In', values: ['web', 'web-before'] },
      { key: 'tier', operator: 'Exists' },
      { key: 'canary', operator: 'DoesNotExist' },
    ] as const;
    const labels = { tier: 'front' };
    await shop.workload('Deployment', 'web', { annotations: asking, labels, expressions, from: ['a'] });
    await shop.workload('Deployment', 'other', { labels, from: ['a'] });
    const { spec } = await shop.baselined('deployment-web');
    assert.deepEqual(spec.podSelector, { app: 'web', tier: 'front' });
    assert.deepEqual(spec.podSelectorExpressions, expressions);
    await shop.allReady();
    await shop.olderThanEdits();
    await shop.config('a', { key: 'second' });
    const { status } = await shop.restarted('deployment-web', 1);
    assert.deepEqual([status?.matchedPods, status?.lastRestart?.restarted], [1, 1]);
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { 'deployment-web': 1 });
    assert.deepEqual([shop.replaced('web'), shop.replaced('other')], [1, 0]);
    assert.deepEqual(await shop.events('web'), []);
  });

  it('has one rollout when ConfigMap and template change together: #992 of Reloader', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--reloader-annotations']);
    await shop.config('a', { key: 'first' });
    await shop.workload('Deployment', 'web', { annotations: { [auto]: 'true' }, from: ['a'], replicas: 2 });
    await shop.baselined('deployment-web');
    await shop.allReady();
    const before = await shop.revision('web');
    await shop.olderThanEdits();
    // A Pod that started before the operator has listed the Pods would rightly be restarted.
    shop.isKubeletSlow = true;
    await shop.config('a', { key: 'second' });
    await shop.workload('Deployment', 'web', {
      annotations: { [auto]: 'true' },
      from: ['a'],
      replicas: 2,
      image: 'app:2',
    });
    await shop.untilWatcher('deployment-web', ({ status }) =>
      Boolean(status?.pending ?? status?.lastRestart),
    );
    shop.isKubeletSlow = false;
    await shop.untilWatcher(
      'deployment-web',
      ({ status }) => status?.lastRestart !== undefined && !status.pending,
    );
    await shop.settled();
    assert.equal((await shop.revision('web')) - before, 1);
    assert.equal(shop.replaced('web'), 2);
  });
});

describe('fifty workloads of all kinds in one namespace', () => {
  it('have a ConfigWatcher each, and an edit restarts exactly those that use it, once', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    const kinds = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;
    for (let index = 0; index < 5; index++) await shop.config(`c${index}`, { key: 'first' });
    const names = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const kind = kinds[index % 3] ?? 'Deployment';
        await shop.workload(kind, `w${index}`, { annotations: asking, from: [`c${index % 5}`] });
        return `${kind.toLowerCase()}-w${index}`;
      }),
    );
    await Promise.all(names.map((name) => shop.baselined(name)));
    await shop.allReady();
    await shop.config('c0', { key: 'second' });
    const used = names.filter((_, index) => index % 5 === 0);
    await Promise.all(used.map((name) => shop.restarted(name, 1)));
    await shop.settled();
    const restarts = await shop.restarts();
    assert.deepEqual(restarts, Object.fromEntries(names.map((name) => [name, used.includes(name) ? 1 : 0])));
    for (const [index] of names.entries()) {
      assert.equal(shop.replaced(`w${index}`), index % 5 === 0 ? 1 : 0, names[index]);
    }
  });
});

describe("a cluster with Reloader's annotations", () => {
  it('moves over without a restart, and from then on each edit restarts what it should, once', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    // The last one matches where an expression need not match the whole name.
    for (const name of ['used', 'listed-1', 'listed-2', 'tagged', 'other', 'unlisted-1'])
      await shop.config(name, { key: 'first' });
    await shop.annotateConfig('tagged', { 'reloader.stakater.com/match': 'true' });
    const options = { 'k8spatterns.io/restart-options': quick };
    const list = 'configmap.reloader.stakater.com/reload';
    await shop.workload('Deployment', 'auto', {
      annotations: { ...options, [auto]: 'true' },
      from: ['used'],
    });
    await shop.workload('StatefulSet', 'list', { annotations: { ...options, [list]: 'listed-.*' } });
    await shop.workload('DaemonSet', 'search', {
      annotations: { ...options, 'reloader.stakater.com/search': 'true' },
      from: ['tagged', 'used'],
    });
    await shop.workload('Deployment', 'template', {
      annotations: options,
      template: { [auto]: 'true' },
      from: ['used'],
    });
    await shop.workload('Deployment', 'off', {
      annotations: { ...options, [auto]: 'false' },
      from: ['used'],
    });
    await shop.allReady();
    const before = await shop.podNames();
    await shop.operator(['--reloader-annotations']);
    const watchers = ['daemonset-search', 'deployment-auto', 'deployment-template', 'statefulset-list'];
    for (const name of watchers) await shop.baselined(name);
    await shop.settled();
    assert.deepEqual(await shop.podNames(), before);
    assert.deepEqual(Object.keys(await shop.restarts()).sort(), watchers);

    await shop.config('used', { key: 'second' });
    await shop.restarted('deployment-auto', 1);
    await shop.restarted('deployment-template', 1);
    await shop.config('listed-2', { key: 'second' });
    await shop.restarted('statefulset-list', 1);
    await shop.config('tagged', { key: 'second' });
    await shop.restarted('daemonset-search', 1);
    await shop.config('other', { key: 'second' });
    await shop.config('unlisted-1', { key: 'second' });
    // A source that appears is taken as it is, and counts from then on.
    await shop.config('listed-3', { key: 'first' });
    await shop.untilWatcher('statefulset-list', ({ spec, status }) =>
      [spec.sources, status?.sources].every((sources) => sources?.length === 3),
    );
    await shop.config('listed-3', { key: 'second' });
    await shop.restarted('statefulset-list', 2);
    await shop.settled();
    const expected = {
      'daemonset-search': 1,
      'deployment-auto': 1,
      'deployment-template': 1,
      'statefulset-list': 2,
    };
    assert.deepEqual(await shop.restarts(), expected);

    // Away and back, an edit meanwhile is found, and nothing else is restarted.
    await shop.stopOperator();
    await shop.config('used', { key: 'third' });
    await shop.operator(['--reloader-annotations']);
    await shop.restarted('deployment-auto', 2);
    await shop.restarted('deployment-template', 2);
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { ...expected, 'deployment-auto': 2, 'deployment-template': 2 });
  });

  it('has no ConfigWatcher by them with --annotated-workloads alone, and no Warning', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    const from = ['a'];
    const list = 'configmap.reloader.stakater.com/reload';
    await shop.workload('Deployment', 'auto', { annotations: { [auto]: 'true' }, from });
    await shop.workload('Deployment', 'list', { annotations: { [list]: 'a' }, from });
    await shop.workload('Deployment', 'template', { template: { [auto]: 'true' }, from });
    await shop.cronJob('nightly', { [auto]: 'true' });
    await shop.workload('Deployment', 'own', { annotations: asking, from });
    await shop.baselined('deployment-own');
    await shop.allReady();
    await shop.olderThanEdits();
    await shop.config('a', { key: 'second' });
    await shop.restarted('deployment-own', 1);
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { 'deployment-own': 1 });
    for (const name of ['auto', 'list', 'template']) assert.equal(shop.replaced(name), 0, name);
    for (const name of ['auto', 'list', 'template', 'nightly', 'own'])
      assert.deepEqual(await shop.events(name), [], name);
  });

  it('is followed with --auto-reload-all, without what is excluded, ignored or switched off', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    const from = ['used', 'excluded', 'ignored'];
    for (const name of from) await shop.config(name, { key: 'first' });
    await shop.annotateConfig('ignored', { 'reloader.stakater.com/ignore': 'true' });
    const options = { 'k8spatterns.io/restart-options': quick };
    const exclude = 'configmaps.exclude.reloader.stakater.com/reload';
    await shop.workload('Deployment', 'web', { annotations: { ...options, [exclude]: 'excluded' }, from });
    await shop.workload('Deployment', 'off', { annotations: { ...options, [auto]: 'false' }, from });
    await shop.allReady();
    await shop.operator(['--reloader-annotations', '--auto-reload-all']);
    const { spec } = await shop.baselined('deployment-web');
    assert.deepEqual(spec.sources, [{ kind: 'ConfigMap', name: 'used', optional: false }]);
    for (const name of ['excluded', 'ignored']) await shop.config(name, { key: 'second' });
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { 'deployment-web': 0 });
    await shop.config('used', { key: 'second' });
    await shop.restarted('deployment-web', 1);
    await shop.settled();
    assert.deepEqual([shop.replaced('web'), shop.replaced('off')], [1, 0]);
  });

  it('is told what has no equivalent', { timeout }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--reloader-annotations']);
    await shop.cronJob('nightly', { [auto]: 'true' });
    await shop.workload('Deployment', 'held', {
      annotations: { [auto]: 'true', 'deployment.reloader.stakater.com/paused-at': '2026-01-01T00:00:00Z' },
      paused: true,
    });
    const alert = { env: [{ name: 'ALERT_ON_RELOAD', value: 'true' }] };
    await shop.workload('Deployment', 'alerting', { container: alert });
    const classes = { 'secretproviderclass.reloader.stakater.com/reload': 'vault' };
    await shop.workload('StatefulSet', 'classes', { annotations: classes });
    const period = 'deployment.reloader.stakater.com/pause-period';
    await shop.workload('StatefulSet', 'pausing', { annotations: { [auto]: 'true', [period]: '5m' } });
    await shop.workload('Deployment', 'timeless', { annotations: { [auto]: 'true', [period]: 'soon' } });
    await shop.job('once', { [auto]: 'true' });
    assert.match(await shop.warning('pausing', 'ReloaderAnnotation'), /for Deployments alone/);
    assert.match(await shop.warning('timeless', 'ReloaderAnnotation'), /no positive duration/);
    assert.match(await shop.warning('once', 'ReloaderAnnotation'), /use a CronJob or an At/);
    assert.match(await shop.warning('alerting', 'ReloaderAnnotation'), /use the Events ConfigRestart/);
    assert.match(await shop.warning('classes', 'ReloaderAnnotation'), /list that Secret/);
    assert.match(await shop.warning('nightly', 'ReloaderAnnotation'), /its next Job reads the new content/);
    assert.match(await shop.warning('held', 'ReloaderAnnotation'), /kubectl rollout resume/);
    const all = ['nightly', 'held', 'once', 'alerting', 'classes', 'pausing', 'timeless'];
    await assertWarnedOnce(shop, all);
    await shop.touch('CronJob', 'nightly');
    await shop.touch('Job', 'once');
    for (const name of ['held', 'alerting', 'timeless']) await shop.touch('Deployment', name);
    for (const name of ['classes', 'pausing']) await shop.touch('StatefulSet', name);
    // What the operator looks at after another one of the same kind it tells of after that.
    await shop.cronJob('last-nightly', { [auto]: 'true' });
    await shop.job('last-once', { [auto]: 'true' });
    await shop.workload('Deployment', 'last-alerting', { container: alert });
    await shop.workload('StatefulSet', 'last-classes', { annotations: classes });
    for (const name of ['nightly', 'once', 'alerting', 'classes'])
      await shop.warning(`last-${name}`, 'ReloaderAnnotation');
    await assertWarnedOnce(shop, all);
  });
});
