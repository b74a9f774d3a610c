/**
 * What must outlive a change of the operator: Ats that wait, and two restarts in the middle, one by evictions and one by
 * the owner's rollout. The Pods of a restart get Ready only when the test lets them, so that the restart is in the middle
 * for as long as the change takes.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { At } from '../../../src/api/at.generated.ts';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { eventually, type Namespace } from '../kubectl.ts';

const replicas = 3;
const gate = 'atwatch.example/may-serve';
const leadSeconds = 15;

/** The apps that are restarted, with the strategies of their ConfigWatchers. */
const restarted = { shop: { type: 'Evict' }, store: { type: 'Auto' } };

const app = (name: string, strategy: object, readinessGates: readonly object[]) => [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { message: '0' } },
  {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
    spec: {
      ...{ replicas, selector: { matchLabels: { app: name } } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          ...{ readinessGates, terminationGracePeriodSeconds: 1 },
          containers: [{ name: 'app', image: 'busybox', command: ['sleep', '86400'] }],
        },
      },
    },
  },
  {
    ...{ apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher', metadata: { name } },
    spec: {
      ...{ configMap: name, podSelector: { app: name } },
      ...{ cooldown: { base: '0s' }, strategy },
    },
  },
];

const at = (name: string, schedule: number) => ({
  ...{ apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At', metadata: { name } },
  spec: { schedule: new Date(schedule).toISOString(), command: 'echo YAY' },
});

const isTrue = ({ status }: Pod, type: string) =>
  (status?.conditions ?? []).some((one) => one.type === type && one.status === 'True');

export class UpgradeStory {
  readonly #namespace: Namespace;
  /** Names by uid of every Pod that there ever was. */
  readonly #pods = new Map<string, string>();
  readonly #watch: ChildProcess;
  #restarts = 0;

  constructor(namespace: Namespace) {
    this.#namespace = namespace;
    const output = '--output=jsonpath={.metadata.uid} {.metadata.name}{"\\n"}';
    const args = [`--namespace=${namespace.name}`, 'get', 'pods', '--watch', output];
    this.#watch = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: this.#watch.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const [uid = '', name = ''] = line.split(' ');
      this.#pods.set(uid, name);
    });
  }

  /** Resolves when all apps serve, and all watchers know their content. */
  async begin(): Promise<void> {
    const gated = Object.entries(restarted).flatMap(([name, strategy]) =>
      app(name, strategy, [{ conditionType: gate }]),
    );
    const items = [...gated, ...app('bystander', { type: 'Evict' }, [])];
    await this.#namespace.apply({ apiVersion: 'v1', kind: 'List', items });
    await this.#namespace.apply(at('much-later', Date.now() + 86_400_000));
    await eventually('apps and watchers', async () => {
      await this.#letServe();
      const ready = (await this.#get<Pod>('pods')).filter((pod) => isTrue(pod, 'Ready'));
      const watchers = await this.#get<ConfigWatcher>('cw');
      return ready.length === 3 * replicas && watchers.every(({ status }) => status?.appliedHash);
    });
  }

  /** Changes the operator while an At waits and the restarts are in the middle, and sees all come to their end, once. */
  async during(change: () => Promise<unknown>): Promise<void> {
    const restart = ++this.#restarts;
    const name = `waiting-${restart}`;
    const before = new Set(this.#pods.keys());
    const schedule = Math.ceil(Date.now() / 1000 + leadSeconds) * 1000;
    await this.#namespace.apply(at(name, schedule));
    const patch = JSON.stringify({ data: { message: `${restart}` } });
    for (const app of Object.keys(restarted)) {
      await this.#namespace.kubectl('patch', `configmap/${app}`, `--patch=${patch}`);
    }
    const created = (prefix: string) =>
      [...this.#pods].filter(([uid, pod]) => !before.has(uid) && pod.startsWith(prefix)).length;
    await eventually('the first new Pods', async () => created('shop-') > 0 && created('store-') > 0);

    await change();

    const watchers = async () =>
      (await this.#get<ConfigWatcher>('cw')).filter(({ metadata }) => metadata.name in restarted);
    for (const { metadata, status } of await watchers()) {
      assert.ok(status?.pending, `the restart of ${metadata.name} was in the middle all the time`);
    }
    await eventually(
      'the end of the restarts',
      async () => {
        await this.#letServe();
        return (await watchers()).every(({ status }) => status?.restartCount === restart && !status.pending);
      },
      150_000,
    );
    await this.#namespace.kubectl(
      'wait',
      '--for=jsonpath={.status.phase}=DONE',
      '--timeout=100s',
      `at/${name}`,
    );
    const { status } = await this.#namespace.getJson<At>(`at/${name}`);
    assert.equal(status?.outcome, 'Succeeded');
    const pod = await this.#namespace.getJson<Pod>(`pod/${name}-pod`);
    assert.ok(Date.parse(pod.metadata.creationTimestamp ?? '') >= schedule, 'not early');
    // One Pod too many would have been made before the status that follows from it. All are in the watch once it has
    // shown those that there are now, which may take a process of its own a moment.
    const all = (await this.#get<Pod>('pods')).map(({ metadata }) => metadata.uid ?? '');
    await eventually('the watch shows all Pods', async () => all.every((uid) => this.#pods.has(uid)));
    assert.deepEqual(
      {
        shop: created('shop-'),
        store: created('store-'),
        bystander: created('bystander-'),
        at: created(name),
        later: created('much-later'),
      },
      { shop: replicas, store: replicas, bystander: 0, at: 1, later: 0 },
    );
  }

  async end(): Promise<void> {
    if (this.#watch.exitCode === null && this.#watch.kill()) await once(this.#watch, 'exit');
  }

  /** Opens the gate of each Pod that has one. */
  async #letServe(): Promise<void> {
    const pods = (await this.#get<Pod>('pods')).filter(
      (pod) =>
        (pod.metadata.labels?.app ?? '') in restarted &&
        !pod.metadata.deletionTimestamp &&
        !isTrue(pod, gate),
    );
    const patch = JSON.stringify({ status: { conditions: [{ type: gate, status: 'True' }] } });
    for (const { metadata } of pods) {
      const args = ['patch', `pod/${metadata.name}`, '--subresource=status', `--patch=${patch}`];
      await this.#namespace.kubectl(...args);
    }
  }

  async #get<T>(what: string): Promise<T[]> {
    return (await this.#namespace.getJson<{ items: T[] }>(what)).items;
  }
}
