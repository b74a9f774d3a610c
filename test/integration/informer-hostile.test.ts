/**
 * Informers of a real API server behind something that answers in its place, or changes what is asked of it: what they
 * may conclude from that, and what they must not.
 */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { before, describe, it, type TestContext } from 'node:test';
import { configMaps, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { widgets, widgetsDefinition } from '../conformance/subject.ts';
import { type Asked, HostileProxy, type OwnAnswer, page404, type Treatment } from './hostile-proxy.ts';
import { applyCrd, connectToTestCluster, eventually, newConnection, withNamespace } from './support.ts';

const { client } = connectToTestCluster();
before(() => applyCrd(client, widgetsDefinition));

const deployments: Resource = {
  ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
};
const resources = [configMaps, widgets, deployments] as const;
const names = ['web-0', 'web-1', 'web-2'];

/** The informers' time: twenty seconds in one. */
const speed = 20;
const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * speed,
  setTimer: (delay, callback) => systemClock.setTimer(delay / speed, callback),
  turn: () => systemClock.turn(),
};

function objectOf(resource: Resource, namespace: string, name: string): KubernetesObject {
  const metadata = { namespace, name, labels: { app: 'web' } };
  if (resource === widgets) return { metadata, spec: { size: 1 } } as KubernetesObject;
  if (resource !== deployments) return { metadata };
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  };
  const spec = { replicas: 0, selector: { matchLabels: { app: 'web' } }, template };
  return { metadata, spec } as KubernetesObject;
}

/** How the collection was asked for: with initial events, page by page, or what comes after a version. */
function sortOf({ query }: Asked): 'list' | 'load' | 'watch' {
  if (query.get('watch') !== 'true') return 'list';
  return query.get('sendInitialEvents') === 'true' ? 'load' : 'watch';
}

function isFor({ plural }: Resource, { path }: Asked): boolean {
  return path.endsWith(`/${plural}`);
}

/** Informers behind a proxy that have loaded three objects of each resource. */
async function rigOf(t: TestContext, followed: readonly Resource[] = resources) {
  const namespace = await withNamespace(t);
  const create = (resource: Resource, name: string) =>
    client.create(resource, objectOf(resource, namespace, name));
  await Promise.all(followed.flatMap((resource) => names.map((name) => create(resource, name))));
  const proxy = await HostileProxy.start(t);
  const connection = newConnection({ kubeConfig: proxy.kubeConfig });
  const stop = new AbortController();
  t.after(() => {
    stop.abort(new Error('the test has ended'));
    connection.close();
  });
  const informers = new Informers({
    ...{ client: connection.client, clock: fastClock, log: silentLogger, namespaces: [namespace] },
  });
  const deleted: string[] = [];
  const listers = followed.map((resource) => {
    const informer = informers.informerFor(resource, { labelSelector: 'app=web' });
    informer.addHandler({
      onDelete: ({ metadata }) => void deleted.push(`${resource.plural} ${metadata.name}`),
    });
    return informer.lister;
  });
  informers.start(stop.signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));
  const sizes = () => listers.map(({ size }) => size);
  assert.deepEqual(
    sizes(),
    followed.map(() => 3),
  );
  return {
    ...{ namespace, create, proxy, informers, deleted, listers, sizes },
    /** Waits until each collection was asked for so many more times; eight take a minute of the informers' time. */
    async tries(count: number): Promise<void> {
      const asked = (resource: Resource) => proxy.asked.filter((one) => isFor(resource, one)).length;
      const goals = followed.map((resource) => [resource, asked(resource) + count] as const);
      await eventually(() => goals.every(([resource, goal]) => asked(resource) >= goal), {
        message: 'the informers try again',
      });
    },
    /** The way to the API server is free again, and leads the informers to where they were. */
    async heals(): Promise<void> {
      proxy.treat = () => undefined;
      for (const resource of followed) await create(resource, 'new');
      await eventually(() => sizes().every((size) => size === 4), { message: 'what is new is shown' });
      assert.deepEqual(informers.problems, []);
    },
  };
}

describe('behind something that answers in place of the API server, informers', { concurrency: 4 }, () => {
  it('keep their objects while every request is answered with a page of 404', async (t) => {
    const rig = await rigOf(t);
    rig.proxy.treat = () => page404;
    rig.proxy.cut();
    await rig.tries(8);
    assert.deepEqual(rig.sizes(), [3, 3, 3]);
    assert.deepEqual(new Set(rig.informers.problems.map(({ reason }) => reason)), new Set(['Failed']));
    await rig.heals();
    assert.deepEqual(rig.deleted, []);
  });

  it('keep their objects while the collections alone are answered so', async (t) => {
    const rig = await rigOf(t);
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
    const json = { 'content-type': 'application/json' };
    const answer: OwnAnswer = { code: 404, body: JSON.stringify(status), headers: json };
    rig.proxy.treat = (asked) => (resources.some((resource) => isFor(resource, asked)) ? answer : undefined);
    rig.proxy.cut();
    await rig.tries(8);
    assert.deepEqual(rig.sizes(), [3, 3, 3]);
    await rig.heals();
    assert.deepEqual(rig.deleted, []);
  });

  it('believe a list without their groups only from a server that is ready, and never of built-in groups', async (t) => {
    const rig = await rigOf(t);
    let readyz: Treatment = { code: 500, body: '[-]etcd failed' };
    const json = { 'content-type': 'application/json' };
    const incomplete = JSON.stringify({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
    rig.proxy.treat = (asked) => {
      if (asked.path === '/apis') return { code: 200, body: incomplete, headers: json };
      if (asked.path === '/readyz') return readyz;
      return resources.some((resource) => isFor(resource, asked)) ? page404 : undefined;
    };
    rig.proxy.cut();
    await rig.tries(8);
    assert.deepEqual(rig.sizes(), [3, 3, 3], 'it may only be starting');
    readyz = { code: 200, body: '<p>Welcome</p>' };
    await rig.tries(4);
    assert.deepEqual(rig.sizes(), [3, 3, 3], 'something else has answered');
    readyz = undefined;
    await eventually(() => rig.sizes()[1] === 0, { message: 'the widgets are gone' });
    await rig.tries(4);
    assert.deepEqual(rig.sizes(), [3, 0, 3]);
    assert.deepEqual(
      rig.deleted.sort(),
      names.map((name) => `widgets ${name}`),
    );
    await rig.heals();
  });

  for (const [code, retryAfter] of [
    [429, '2'],
    [503, '1'],
    [500, undefined],
    [429, 'soon'],
  ] as const) {
    it(`resume after ${code} with Retry-After: ${retryAfter}, again and again, from where they were`, async (t) => {
      const rig = await rigOf(t);
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      rig.proxy.treat = ({ query }) =>
        query.get('watch') === 'true' ? { code, body: 'too much', headers } : undefined;
      rig.proxy.asked.length = 0;
      rig.proxy.cut();
      await rig.tries(6);
      await rig.heals();
      assert.deepEqual(new Set(rig.proxy.asked.map(sortOf)), new Set(['watch']));
      assert.deepEqual(rig.deleted, []);
    });
  }

  it('load again after two lines from one position that cannot be read, which are no progress', async (t) => {
    const rig = await rigOf(t, [configMaps]);
    let left = 2;
    rig.proxy.treat = (asked) =>
      sortOf(asked) === 'watch' && left-- > 0
        ? { code: 200, body: '{"type":"ADDED","object":\n' }
        : undefined;
    rig.proxy.asked.length = 0;
    rig.proxy.cut();
    await eventually(() => rig.proxy.asked.map(sortOf).includes('load'));
    await rig.heals();
    assert.deepEqual(rig.proxy.asked.map(sortOf).slice(0, 3), ['watch', 'watch', 'load']);
    assert.deepEqual(rig.deleted, []);
  });

  const fruitless: readonly (readonly [what: string, answer: () => Treatment])[] = [
    ['end at once', () => ({ code: 200, body: '' })],
    // The headers come, so the watch is open.
    ['bring nothing', () => ({ through: new Transform({ transform: (_, __, next) => next() }) })],
  ];
  for (const [what, answer] of fruitless) {
    it(`are without progress while their watches are opened and ${what}`, async (t) => {
      const rig = await rigOf(t, [configMaps]);
      rig.proxy.treat = answer;
      rig.proxy.asked.length = 0;
      rig.proxy.cut();
      // A watch that brings nothing is left after 150 s.
      await eventually(() => rig.informers.sinceLastContact() > 200_000);
      assert.ok(rig.proxy.asked.length >= 2);
      assert.deepEqual(new Set(rig.proxy.asked.map(sortOf)), new Set(['watch']));
      await rig.heals();
      assert.ok(rig.informers.sinceLastContact() < 200_000);
      assert.deepEqual(rig.deleted, []);
    });
  }

  it('load again when their position is one of the future, as after a restored backup', async (t) => {
    const rig = await rigOf(t, [configMaps]);
    rig.proxy.treat = (asked) => {
      const version = asked.query.get('resourceVersion');
      if (version) asked.query.set('resourceVersion', String(Number(version) + 1_000_000_000));
      return undefined;
    };
    rig.proxy.asked.length = 0;
    rig.proxy.cut();
    await eventually(() => rig.proxy.asked.some((asked) => sortOf(asked) === 'watch'));
    await rig.create(configMaps, 'new');
    await eventually(() => rig.sizes()[0] === 4, { timeout: 60_000, message: 'what is new is shown' });
    assert.ok(rig.proxy.asked.some((asked) => sortOf(asked) === 'load'));
    assert.deepEqual(rig.deleted, []);
  });

  it('list where initial events are refused, and ask for them at the next load', async (t) => {
    const rig = await rigOf(t, [configMaps]);
    const expired = JSON.stringify({ kind: 'Status', reason: 'Expired', code: 410 });
    const once = new Map([
      ['watch', { code: 410, body: expired }],
      ['load', { code: 400, body: 'sendInitialEvents?' }],
    ]);
    const treatOnce = (asked: Asked) => {
      const sort = sortOf(asked);
      const answer = once.get(sort);
      once.delete(sort);
      return answer;
    };
    rig.proxy.treat = treatOnce;
    rig.proxy.asked.length = 0;
    rig.proxy.cut();
    await eventually(() => rig.proxy.asked.length >= 4);
    await rig.create(configMaps, 'new');
    await eventually(() => rig.sizes()[0] === 4);
    once.set('watch', { code: 410, body: expired });
    rig.proxy.cut();
    await eventually(() => rig.proxy.asked.length >= 6);
    assert.deepEqual(rig.proxy.asked.map(sortOf).slice(0, 6), [
      ...['watch', 'load', 'list', 'watch'],
      ...['watch', 'load'],
    ]);
    assert.deepEqual(rig.deleted, []);
  });
});
