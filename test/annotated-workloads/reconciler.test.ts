import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchKinds, workloads } from '../../src/annotated-workloads/facts/watched-workloads.ts';
import type { Workload } from '../../src/annotated-workloads/plan/workload.ts';
import { WorkloadReconciler } from '../../src/annotated-workloads/reconciler.ts';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Lister } from '../../src/runtime/cache/lister.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { presentSources, workload } from './workloads.ts';

const asking = { 'k8spatterns.io/restart-on-change': 'configmap/a' };

function refusal(code: number, reason: string, message = 'no'): ApiError {
  return new ApiError(message, code, { code, reason, message });
}

/** A store of one namespace that is brought up to date by hand. */
function store<T extends KubernetesObject>() {
  const objects = new Map<string, T>();
  const lister: Lister<T> = {
    get: (_, name) => objects.get(name),
    list: () => [...objects.values()],
    byIndex: () => [],
    size: 0,
  };
  return { objects, lister };
}

function world() {
  const [deployments, watchers, jobs] = [
    store<Workload>(),
    store<ConfigWatcher>(),
    store<KubernetesObject>(),
  ];
  const calls: string[] = [];
  const events: string[] = [];
  const answers: { failure?: Error } = {};
  const time = { now: 0 };
  const call = async (text: string) => {
    calls.push(text);
    if (answers.failure) throw answers.failure;
  };
  const client = {
    async create(_: unknown, watcher: ConfigWatcher, options: { fieldValidation?: string }) {
      await call(`create ${watcher.metadata.name} ${options.fieldValidation}`);
      watchers.objects.set(watcher.metadata.name, {
        ...watcher,
        metadata: { ...watcher.metadata, uid: 'w', resourceVersion: '1' },
      });
    },
    async update(_: unknown, watcher: ConfigWatcher) {
      await call(`update ${watcher.metadata.name} at ${watcher.metadata.resourceVersion}`);
      watchers.objects.set(watcher.metadata.name, watcher);
    },
    async delete(_: unknown, { name }: { name: string }, { uid }: { uid?: string }) {
      await call(`delete ${name} ${uid}`);
      watchers.objects.delete(name);
    },
  } as unknown as Client;
  const reconciler = new WorkloadReconciler({
    client,
    clock: { monotonic: () => time.now },
    recorder: { record: (_, { metadata }, { reason }) => events.push(`${metadata.name} ${reason}`) },
    modes: { reloaderAnnotations: true, autoReloadAll: false },
    secretAccess: false,
    workloads: [{ resource: workloads[0]!, lister: deployments.lister }],
    others: [{ resource: batchKinds[1]!, lister: jobs.lister }],
    watchers: { resource: configWatchers, lister: watchers.lister },
    presentIn: () => presentSources({}),
  });
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: 'test' };
  const look = (name = 'Deployment/web') => reconciler.reconcile({ namespace: 'shop', name }, context);
  const put = (annotations: Record<string, string> = {}) => {
    deployments.objects.set('web', workload({ annotations }));
  };
  return { deployments, watchers, jobs, calls, events, answers, time, look, put };
}

describe('the reconciler of annotated workloads', () => {
  it('creates, updates and deletes, each only where something differs', async () => {
    const { calls, look, put } = world();
    put(asking);
    await look();
    await look();
    put({ ...asking, 'k8spatterns.io/restart-options': '{"suspend": true}' });
    await look();
    await look();
    put();
    await look();
    await look();
    assert.deepEqual(calls, [
      'create deployment-web Strict',
      'update deployment-web at 1',
      'delete deployment-web w',
    ]);
  });

  it('does nothing for a workload that is gone', async () => {
    const { calls, events, look } = world();
    await look();
    assert.deepEqual([calls, events], [[], []]);
  });

  it('says once what is wrong, again when it is wrong anew, and nothing when it is mended', async () => {
    const { deployments, events, look, put } = world();
    const wrong = { 'k8spatterns.io/restart-on-change': 'nonsense' };
    for (const annotations of [wrong, wrong, asking, wrong]) {
      put(annotations);
      await look();
    }
    assert.deepEqual(events, ['web InvalidRestartAnnotation', 'web InvalidRestartAnnotation']);
    deployments.objects.clear();
    await look();
    put(wrong);
    await look();
    assert.equal(events.length, 3);
  });

  for (const [title, failure] of [
    ['an unknown field', refusal(400, 'BadRequest', 'strict decoding error: unknown field "spec.x"')],
    ['a spec that the CRD refuses', refusal(422, 'Invalid')],
  ] as const) {
    it(`says ${title} once, and waits for an event`, async () => {
      const { answers, events, look, put } = world();
      answers.failure = failure;
      put(asking);
      await look();
      await look();
      assert.deepEqual(events, ['web InvalidRestartAnnotation']);
    });
  }

  for (const [title, failure] of [
    ['a conflict', refusal(409, 'Conflict')],
    ['a ConfigWatcher that is there already', refusal(409, 'AlreadyExists')],
    ['an API server that is away', refusal(500, 'InternalError')],
  ] as const) {
    it(`tries again after ${title}`, async () => {
      const { answers, events, look, put } = world();
      answers.failure = failure;
      put(asking);
      await assert.rejects(look(), failure);
      assert.deepEqual(events, []);
      delete answers.failure;
      await look();
    });
  }

  it('says once that it may not, and tries again', async () => {
    const { answers, events, look, put } = world();
    answers.failure = refusal(403, 'Forbidden');
    put(asking);
    await assert.rejects(look());
    await assert.rejects(look());
    assert.deepEqual(events, ['web Forbidden']);
    delete answers.failure;
    await look();
  });

  for (const reason of ['NotFound', 'Conflict']) {
    it(`has nothing to delete any more after ${reason}`, async () => {
      const { answers, look, put } = world();
      put(asking);
      await look();
      put();
      answers.failure = refusal(reason === 'NotFound' ? 404 : 409, reason);
      await look();
    });
  }

  it('deletes again after a page of a proxy, which proves no absence', async () => {
    const { answers, calls, look, put } = world();
    put(asking);
    await look();
    put();
    answers.failure = refusal(404, '', '404 page not found');
    await assert.rejects(look(), answers.failure);
    delete answers.failure;
    await look();
    assert.deepEqual(calls.slice(1), ['delete deployment-web w', 'delete deployment-web w']);
  });

  it('says of other kinds that they get none', async () => {
    const { events, jobs, look } = world();
    jobs.objects.set('once', {
      metadata: { name: 'once', annotations: { 'reloader.stakater.com/auto': 'true' } },
    });
    jobs.objects.set('plain', { metadata: { name: 'plain' } });
    for (const name of ['Job/once', 'Job/once', 'Job/plain', 'Job/gone']) await look(name);
    assert.deepEqual(events, ['once ReloaderAnnotation']);
  });
});

describe('a ConfigWatcher that another client undoes', () => {
  it('is made again at once, and then later each time', async () => {
    const { watchers, calls, time, look, put } = world();
    put(asking);
    await look();
    watchers.objects.clear();
    await look();
    assert.equal(calls.length, 2);
    for (const wait of [1000, 2000, 4000]) {
      watchers.objects.clear();
      assert.deepEqual(await look(), { requeueAfter: wait });
      time.now += wait;
      assert.deepEqual(await look(), {});
    }
    assert.equal(calls.length, 5);
  });

  it('is made at once for a workload that was made again', async () => {
    const { deployments, watchers, look, put } = world();
    for (const uid of ['a', 'b', 'c', 'd']) {
      put(asking);
      const [web] = deployments.objects.values();
      assert.ok(web !== undefined);
      deployments.objects.set('web', { ...web, metadata: { ...web.metadata, uid } });
      assert.deepEqual(await look(), {});
      watchers.objects.clear();
    }
  });

  it('is deleted again, and its spec set again, later each time', async () => {
    const { watchers, calls, time, look, put } = world();
    put(asking);
    await look();
    const [made] = watchers.objects.values();
    assert.ok(made !== undefined);
    const other = { ...made, spec: { ...made.spec, suspend: true } };
    for (const wait of [0, 1000]) {
      watchers.objects.set(made.metadata.name, other);
      if (wait > 0) assert.deepEqual(await look(), { requeueAfter: wait });
      time.now += wait;
      await look();
    }
    put();
    for (const wait of [0, 0, 1000]) {
      watchers.objects.set(made.metadata.name, made);
      if (wait > 0) assert.deepEqual(await look(), { requeueAfter: wait });
      time.now += wait;
      await look();
    }
    assert.deepEqual(
      calls.map((call) => call.split(' ')[0]),
      ['create', 'update', 'update', 'delete', 'delete', 'delete'],
    );
  });
});
