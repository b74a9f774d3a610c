/** Reconciles that wake themselves, on a real API server, whose watch is often faster than the answer to a write. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';
import { configMaps, type KubernetesObject, pods, type Resource } from '../../src/kubernetes/objects.ts';
import { isForbidden } from '../../src/runtime/client/api-error.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import { generationChanged } from '../../src/runtime/controller/predicate.ts';
import type { Reconciler } from '../../src/runtime/controller/reconciler.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import type { Manager } from '../../src/runtime/manager/manager.ts';
import { recordingLogger, series } from '../runtime/controller/fixtures.ts';
import { imposeQuota } from './quota.ts';
import {
  applyCrds,
  connectToTestCluster,
  eventually,
  isGone,
  testKubeConfig,
  withNamespace,
} from './support.ts';

interface CronTab extends KubernetesObject {
  readonly spec: { readonly cronSpec: string; readonly image: string };
  readonly status?: object;
}

const cronTabs: Resource<CronTab> = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
};

before(() => applyCrds('examples/crontab'));

interface Rig {
  readonly manager: Manager;
  readonly namespace: string;
  /** When each run began, performance.now(). */
  readonly runs: number[];
  readonly warnings: () => readonly object[];
  /** Another client edits the CronTab. */
  edit(cronSpec: string): Promise<unknown>;
}

/**
 * A controller for one CronTab, which it calls `reconcile` for.
 *
 * @param prepare what the namespace needs before the first call.
 */
async function rigOf(
  t: TestContext,
  reconcile: (rig: Rig) => ReturnType<Reconciler['reconcile']>,
  prepare: (namespace: string) => Promise<unknown> = async () => {},
): Promise<Rig> {
  const { client } = connectToTestCluster();
  const namespace = await withNamespace(t);
  await prepare(namespace);
  const key = { namespace, name: 'loop' };
  await client.create(cronTabs, { metadata: key, spec: { cronSpec: '0 0 1 1 *', image: 'x' } });
  const log = recordingLogger();
  const manager = createManager({
    ...{ name: 'guards-test', kubeConfig: testKubeConfig(), namespaces: [namespace], log },
  });
  const rig: Rig = {
    ...{ manager, namespace, runs: [] },
    warnings: () =>
      log.lines.filter(({ message }) => message.includes('wakes itself')).map(({ fields }) => fields),
    edit: (cronSpec) => client.patch(cronTabs, key, { type: 'merge', body: { spec: { cronSpec } } }),
  };
  controllerManagedBy(manager)
    .for(cronTabs)
    .complete({
      reconcile: () => {
        rig.runs.push(performance.now());
        return reconcile(rig);
      },
    });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return rig;
}

/** A status that is never like the one before; `conditional` on the version that the informer has. */
function writeStatus({ manager, namespace }: Rig, { conditional = false } = {}): Promise<unknown> {
  const found = manager.informers.informerFor(cronTabs).lister.get(namespace, 'loop');
  const precondition = conditional && { metadata: { resourceVersion: found?.metadata.resourceVersion } };
  const now = new Date().toISOString();
  const condition = {
    ...{ type: 'Accepted', status: 'True', reason: 'Test', message: randomUUID() },
    lastTransitionTime: now,
  };
  const status = { cronSpec: '0 0 1 1 *', handledUntil: now, conditions: [condition] };
  const body = { ...precondition, status };
  return manager.client.patchStatus(cronTabs, { namespace, name: 'loop' }, { type: 'merge', body });
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe('guards on a real API server', { concurrency: true }, () => {
  const loops: readonly {
    readonly name: string;
    readonly cause: string;
    readonly reconcile: (rig: Rig) => ReturnType<Reconciler['reconcile']>;
  }[] = [
    { name: 'requeueAfter: 0', cause: 'requeue', reconcile: async () => ({ requeueAfter: 0 }) },
    {
      name: 'a status with the time in it',
      cause: 'own_write',
      reconcile: async (rig) => {
        await writeStatus(rig);
        return {};
      },
    },
  ];
  for (const { name, cause, reconcile } of loops) {
    it(`${name} is slowed down, logged once, and counted`, async (t) => {
      const rig = await rigOf(t, reconcile);
      await eventually(() => rig.runs.length > 0);
      await pass(8000);
      await eventually(() => rig.warnings().length > 0, { timeout: 60_000, message: 'the loop is noticed' });
      const { length } = rig.runs;
      const seconds = (performance.now() - (rig.runs[0] ?? 0)) / 1000;
      assert.ok(length <= 20 + seconds * 20 + 20, `${length} runs in ${seconds} s`);
      assert.deepEqual(
        rig
          .warnings()
          .map((fields) => [(fields as { cause: string }).cause, (fields as { name: string }).name]),
        [[cause, 'loop']],
      );
      const slowed = await series(rig.manager.registry, 'controller_runtime_reconcile_slowed_total');
      assert.ok(
        (slowed[`controller_runtime_reconcile_slowed_total{controller="crontab",cause="${cause}"}`] ?? 0) > 0,
      );
      await rig.edit('0 0 2 2 *');
      await eventually(() => rig.runs.length > length, { message: 'a foreign edit is looked at' });
    });
  }

  for (const [name, conditional] of [
    ['a conditional', true],
    ['an unconditional', false],
  ] as const) {
    it(`a refusal by a quota backs off after ${name} status write, until another client edits the object`, async (t) => {
      let refusals = 0;
      const { client } = connectToTestCluster();
      const create = async (self: Rig) => {
        const { manager, namespace } = self;
        const metadata = { namespace, name: `refused-${randomUUID()}` };
        const pod = { metadata, spec: { containers: [{ name: 'main', image: 'x' }] } };
        try {
          await manager.client.create(pods, pod as never);
        } catch (error) {
          if (isForbidden(error)) refusals++;
          await writeStatus(self, { conditional });
          throw error;
        }
        return {};
      };
      const rig = await rigOf(t, create, (namespace) => imposeQuota({ client, namespace }, { pods: '0' }));
      // The pauses double: the next one is of 20 s, which the look at the edit cannot be taken for.
      const isPaused = () => {
        return rig.runs.some((run, index) => run - (rig.runs[index - 1] ?? run) > 10_000);
      };
      await eventually(isPaused, { timeout: 60_000, message: 'it backs off' });
      assert.ok(rig.runs.length <= 25, `${rig.runs.length} runs, ${refusals} of them refused`);
      assert.ok(refusals > 0, 'the quota refuses');
      const { length } = rig.runs;
      await rig.edit('0 0 3 3 *');
      await eventually(() => rig.runs.length > length, { timeout: 15_000, message: 'the edit is looked at' });
    });
  }

  it('a reconcile that hangs turns /healthz red once no worker is free, until one is again', async (t) => {
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    const log = recordingLogger();
    const manager = createManager({
      ...{ name: 'guards-test', kubeConfig: testKubeConfig(), namespaces: [namespace], log },
      healthProbeBindAddress: '127.0.0.1:0',
    });
    const hangs = new Map<string, { readonly since: number; readonly end: () => void }>();
    controllerManagedBy(manager)
      .for(configMaps, { labelSelector: 'hangs' })
      .withOptions({ maxConcurrentReconciles: 2, unhealthyAfter: 2000 })
      .complete({
        reconcile: ({ name }) =>
          new Promise((resolve) => hangs.set(name, { since: performance.now(), end: () => resolve({}) })),
      });
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    t.after(async () => {
      stop.abort();
      for (const { end } of hangs.values()) end();
      await ended;
    });
    const hang = async (name: string) => {
      await client.create(configMaps, { metadata: { namespace, name, labels: { hangs: '' } } });
      return await eventually(() => hangs.get(name), { message: `the reconcile of ${name} hangs` });
    };
    const health = async () => {
      const serving = log.lines.find(({ message }) => message === 'serving health checks');
      const response = await fetch(`http://${serving?.fields.address}/healthz`);
      return `${response.status} ${await response.text()}`;
    };
    const one = await hang('one');
    await eventually(() => performance.now() - one.since > 4000);
    assert.equal(await health(), '200 ok', 'one worker is free');
    const two = await hang('two');
    const red = await eventually(async () => {
      const answer = await health();
      return answer !== '200 ok' && { answer, after: performance.now() - two.since };
    });
    assert.match(red.answer, /^500 .*\[-\]controllers failed: reason withheld\n/s);
    assert.doesNotMatch(red.answer, /\[-\](?!controllers)/);
    assert.ok(red.after >= 2000, `after ${red.after} ms`);
    one.end();
    await eventually(async () => (await health()) === '200 ok', { message: 'it is healthy again' });
  });

  it('a deletion is seen through generationChanged, also of an object that has no generation', async (t) => {
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    const finalizer = 'guards.example.com/test';
    const key = { namespace, name: 'finalized' };
    await client.create(configMaps, { metadata: { ...key, finalizers: [finalizer] } });
    const manager = createManager({
      ...{
        name: 'guards-test',
        kubeConfig: testKubeConfig(),
        namespaces: [namespace],
        log: recordingLogger(),
      },
    });
    const { lister } = manager.informers.informerFor(configMaps);
    let runs = 0;
    controllerManagedBy(manager)
      .for(configMaps, { predicates: [generationChanged] })
      .complete({
        async reconcile({ namespace: where, name }) {
          if (name !== key.name) return {};
          runs++;
          if (lister.get(where, name)?.metadata.deletionTimestamp === undefined) return {};
          const body = { metadata: { finalizers: null } };
          await manager.client.patch(configMaps, { namespace: where, name }, { type: 'merge', body });
          return {};
        },
      });
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    t.after(async () => {
      stop.abort();
      await ended;
    });
    await eventually(() => runs === 1, { message: 'the ConfigMap is looked at' });
    await client.delete(configMaps, key);
    await eventually(() => isGone(client, configMaps, namespace, key.name), { message: 'it is gone' });
  });
});
