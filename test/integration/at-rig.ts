/**
 * Rig for the At tests: an operator with the At controller alone, in this process, on a namespace of its own.
 * There is no node: what a kubelet would report of a Pod, the test writes.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { addAtController } from '../../src/at/controller.ts';
import type { AtDefaults } from '../../src/at/facts/observed.ts';
import { isCause } from '../../src/at/plan/cause.ts';
import { planOf } from '../../src/at/plan/plan.ts';
import { buildPod } from '../../src/at/plan/pod.ts';
import {
  type KubernetesObject,
  type Pod,
  type PodStatus,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { formatMicroTime } from '../../src/kubernetes/time.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { events } from '../../src/runtime/events/event.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import type { Manager } from '../../src/runtime/manager/manager.ts';
import { serviceAccounts } from '../fixtures/cluster-resources.ts';
import { connectToTestCluster, eventually, isGone, withNamespace } from './support.ts';
import { testManager } from './test-manager.ts';

interface RunningOperator {
  readonly manager: Manager;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export interface OperatorOptions {
  readonly kubeConfig?: KubeConfig;
  readonly registry?: Registry;
  readonly log?: Logger;
  readonly checksAuthors?: boolean;
  readonly defaults?: AtDefaults;
  readonly clock?: Clock;
  /** False: as with rights in its namespaces alone. */
  readonly tracks?: boolean;
  /** Beside a leader that lives on and does nothing. */
  readonly isStandby?: boolean;
  /** Milliseconds. */
  readonly failoverLaunchDelay?: number;
  /** May look at its calls. */
  readonly onConnect?: (client: Client) => void;
}

const nodes: Resource<KubernetesObject & { readonly spec?: object }> = {
  ...{ group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false },
};

/** Of a launch that the operator is late for. */
const lateLaunch = 'LaunchedLate (W)';

/** No node can have it yet. */
export function isGated({ spec }: Pod): boolean {
  return (spec.schedulingGates ?? []).length > 0;
}

/** Pods of a namespace, by uid. */
export interface Releases {
  readonly created: ReadonlyMap<string, Pod>;
  /** Those that a node could have had. */
  readonly released: ReadonlyMap<string, Pod>;
  readonly gone: ReadonlySet<string>;
}

export class AtRig {
  readonly client: Client;
  readonly namespace: string;
  readonly #kubeConfig: KubeConfig;
  readonly #operators: RunningOperator[] = [];

  /** @param client of the test, on the API server of `kubeConfig`, on which the operators work. */
  constructor(client: Client, kubeConfig: KubeConfig, namespace: string) {
    this.client = client;
    this.namespace = namespace;
    this.#kubeConfig = kubeConfig;
  }

  /** A namespace of the test cluster for the test, and nothing in it but what its Pods need to be admitted. */
  static async create(t: TestContext): Promise<AtRig> {
    const { client, kubeConfig } = connectToTestCluster();
    const rig = new AtRig(client, kubeConfig, await withNamespace(t));
    t.after(() => rig.stopOperators());
    await eventually(() => client.get(serviceAccounts, rig.#key('default')), {
      ...{ interval: 10, message: 'the namespace has its ServiceAccount' },
    });
    return rig;
  }

  /**
   * One more operator, without leader election. Resolves when it has seen everything.
   *
   * @param options as whom it works, where its metrics and its log lines go.
   */
  async startOperator({
    kubeConfig = this.#kubeConfig,
    registry = new Registry(),
    log = silentLogger,
    checksAuthors = false,
    defaults = {},
    clock = systemClock,
    tracks = true,
    isStandby = false,
    failoverLaunchDelay = 1000,
    onConnect = () => {},
  }: OperatorOptions = {}): Promise<void> {
    const lease = { namespace: this.namespace, name: 'leader' };
    if (isStandby) await this.#lead(lease);
    const manager = testManager({
      ...{ namespaces: [this.namespace], kubeConfig, clock, log, registry, onConnect },
      ...(isStandby && { leaderElection: { ...lease, identity: 'standby' } }),
    });
    addAtController(manager, { checksAuthors, defaults, tracks, failoverLaunchDelay });
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    ended.catch(() => {});
    this.#operators.push({ manager, stop, ended });
    await eventually(() => manager.informers.hasSynced, { message: 'the caches are filled' });
  }

  async stopOperators(): Promise<void> {
    for (const { stop } of this.#operators) stop.abort();
    await Promise.all(this.#operators.map(({ ended }) => ended));
    this.#operators.length = 0;
  }

  /** Holds the Lease for a day. */
  async #lead(key: { readonly namespace: string; readonly name: string }): Promise<void> {
    const time = formatMicroTime(Date.now());
    const holder = { holderIdentity: 'leader', leaseDurationSeconds: 86_400, leaseTransitions: 0 };
    const spec = { ...holder, acquireTime: time, renewTime: time };
    await this.client.create(leases, { metadata: key, spec });
  }

  /** An At that is due at once, unless the spec says otherwise. */
  createAt(spec: Partial<AtSpec> = {}, name = 'example-at'): Promise<At> {
    const command = spec.argv === undefined && spec.template === undefined ? { command: 'echo YAY' } : {};
    return this.client.create(ats, {
      metadata: { namespace: this.namespace, name },
      spec: { schedule: '2019-04-12T10:12:00Z', ...command, ...spec },
    });
  }

  /**
   * An accepted At that waits for its time: soon, or later on a machine that is too slow for that. Returns its name,
   * and the instant at which it is due.
   *
   * @param act what has to be done by then. `undo` is called before another At is tried.
   */
  async createWaiting(
    act: () => unknown = () => {},
    undo: () => unknown = () => {},
  ): Promise<{ name: string; due: number }> {
    for (let lead = 3000; lead < 120_000; lead *= 2) {
      const name = `at-${lead}`;
      const due = Date.now() + lead;
      await this.createAt({ schedule: new Date(due).toISOString() }, name);
      await this.atWhen('accepted', ({ status }) => status?.observedGeneration === 1, name);
      await act();
      if (Date.now() < due) return { name, due };
      await undo();
    }
    throw new Error('this machine is too slow to see an At wait');
  }

  editAt(spec: Partial<AtSpec>, name = 'example-at'): Promise<At> {
    return this.client.patch(ats, this.#key(name), { type: 'merge', body: { spec } });
  }

  /** A finalizer of another controller, until it is taken off or the test ends. Returns what takes it off. */
  async holdAt(t: Pick<TestContext, 'after'>, name = 'example-at'): Promise<() => Promise<unknown>> {
    const patch = (finalizers: string[] | null) =>
      this.client.patch(ats, this.#key(name), { type: 'merge', body: { metadata: { finalizers } } });
    await patch(['example.com/hold']);
    t.after(() => patch(null).catch(() => {}));
    return () => patch(null);
  }

  at(name = 'example-at'): Promise<At> {
    return this.client.get(ats, this.#key(name));
  }

  pod(name = 'example-at-pod'): Promise<Pod> {
    return this.client.get(pods, this.#key(name));
  }

  isPodGone(name = 'example-at-pod'): Promise<boolean> {
    return isGone(this.client, pods, this.namespace, name);
  }

  /** Creates the Pod of the first attempt, as a replica does that is stale, or killed right after. */
  async createPodOf(name = 'example-at', spec: Partial<Pod['spec']> = {}): Promise<Pod> {
    const at = await this.at(name);
    const plan = planOf(at);
    assert.ok(!isCause(plan));
    const pod = buildPod(at, plan, 1);
    return this.client.create(pods, { ...pod, spec: { ...pod.spec, ...spec } });
  }

  /** Resolves with the Pod once the operator has told the kubelet to stop it. */
  stopped(name = 'example-at-pod'): Promise<Pod> {
    return eventually(
      async () => {
        const pod = await this.pod(name);
        return pod.spec.activeDeadlineSeconds === 1 && pod;
      },
      { message: `${name} is stopped` },
    );
  }

  /** Resolves with the At once it is so. */
  atWhen(message: string, holds: (at: At) => boolean, name = 'example-at', timeout = 30_000): Promise<At> {
    return eventually(
      async () => {
        const at = await this.at(name);
        if (holds(at)) return at;
        throw new Error(`its status is ${JSON.stringify(at.status)}`);
      },
      { message: `the At ${name} is ${message}`, timeout },
    );
  }

  inPhase(phase: string, name = 'example-at', timeout = 30_000): Promise<At> {
    return this.atWhen(phase, ({ status }) => status?.phase === phase, name, timeout);
  }

  /**
   * Binds the Pod to a node of this rig alone: without one, and where the node is not there, the Pod garbage collector
   * ends it as soon as it is deleted.
   */
  async bind(t: Pick<TestContext, 'after'>, name = 'example-at-pod'): Promise<void> {
    const node = { name: this.namespace };
    const taints = [{ key: 'example.com/test', effect: 'NoSchedule' }];
    // What the scheduler says of the Pod after the binding would stand for what keeps it from its start.
    await this.unschedulable(name);
    await this.client.patch(nodes, node, {
      ...{ type: 'apply', fieldManager: 'test', force: true },
      body: { apiVersion: 'v1', kind: 'Node', metadata: node, spec: { taints } },
    });
    t.after(() => this.client.delete(nodes, node).catch(() => {}));
    const target = { apiVersion: 'v1', kind: 'Node', ...node };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: this.#key(name), target };
    await this.client.subresource(pods, this.#key(name), 'binding').create(binding);
  }

  /** Resolves once the scheduler has said that it finds no node for the Pod. */
  unschedulable(name = 'example-at-pod'): Promise<true> {
    return eventually(
      async () =>
        (await this.pod(name)).status?.conditions?.some(
          ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
        ),
      { message: `the scheduler finds no node for ${name}` },
    );
  }

  setPod(status: PodStatus, name = 'example-at-pod'): Promise<Pod> {
    return this.client.patchStatus(pods, this.#key(name), { type: 'merge', body: { status } });
  }

  /** The kubelet takes the Pod and starts its command. */
  async start(name = 'example-at-pod'): Promise<void> {
    const startedAt = seconds(Date.now());
    await this.setPod(
      {
        phase: 'Running',
        startTime: startedAt,
        containerStatuses: [await this.#container(name, { running: { startedAt } })],
      },
      name,
    );
  }

  /** Its command has failed with exit code 7, after so many restarts, and waits for the next one. */
  async failAgain(restartCount: number, name = 'example-at-pod', message?: string): Promise<void> {
    const [container] = (await this.pod(name)).status?.containerStatuses ?? [];
    if (container === undefined) throw new Error(`Pod ${name} has not started`);
    const time = seconds(Date.now());
    const said = message === undefined ? {} : { message };
    const terminated = { exitCode: 7, reason: 'Error', startedAt: time, finishedAt: time, ...said };
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    await this.setPod(
      { containerStatuses: [{ ...container, restartCount, state, lastState: { terminated } }] },
      name,
    );
  }

  /** Its command ends. */
  async exit(exitCode: number, name = 'example-at-pod', message?: string): Promise<void> {
    const time = seconds(Date.now());
    const terminated = {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: time,
      finishedAt: time,
      ...(message === undefined ? {} : { message }),
    };
    await this.setPod(
      {
        phase: exitCode === 0 ? 'Succeeded' : 'Failed',
        startTime: time,
        containerStatuses: [await this.#container(name, { terminated })],
      },
      name,
    );
  }

  /** Tells all that there is of a kind in the namespace and becomes of it, until the end of the test. */
  async watch<T extends KubernetesObject>(
    t: Pick<TestContext, 'after'>,
    resource: Resource<T>,
    tell: (type: string, object: T) => void,
  ): Promise<void> {
    const end = new AbortController();
    const options = { namespace: this.namespace, timeoutSeconds: 600, signal: end.signal };
    const events = await this.client.watch(resource, options);
    const watching = (async () => {
      for await (const event of events) {
        if (event.type !== 'BOOKMARK' && event.type !== 'ERROR') tell(event.type, event.object);
      }
    })().catch(() => {});
    t.after(async () => {
      end.abort();
      await watching;
    });
  }

  /** The uids of all Pods that ever were in the namespace, from now until the end of the test. */
  async watchPods(t: Pick<TestContext, 'after'>): Promise<ReadonlySet<string>> {
    const uids = new Set<string>();
    await this.watch(t, pods, (_, { metadata }) => uids.add(metadata.uid ?? ''));
    return uids;
  }

  /** The same Pods as they were seen last, and which of them a node could have had, and which are gone. */
  async watchReleases(t: Pick<TestContext, 'after'>): Promise<Releases> {
    const [created, released] = [new Map<string, Pod>(), new Map<string, Pod>()];
    const gone = new Set<string>();
    await this.watch(t, pods, (type, pod) => {
      const { uid = '' } = pod.metadata;
      created.set(uid, pod);
      if (!isGated(pod)) released.set(uid, pod);
      if (type === 'DELETED') gone.add(uid);
    });
    return { created, released, gone };
  }

  /**
   * The Events about the At, oldest first: `Launched`, or `Failed (W)` for a warning. A late launch is one as any other:
   * a slow machine makes some. {@link isLaunchToldLate} tells them apart.
   */
  async events(name = 'example-at'): Promise<string[]> {
    const told = await this.#told(name);
    return told.map((event) => (event === lateLaunch ? 'Launched' : event));
  }

  /** Whether its launch is told as one that the operator is late for. Resolves once it is told. */
  async isLaunchToldLate(name = 'example-at'): Promise<boolean> {
    const launch = async () => (await this.#told(name)).find((event) => event.startsWith('Launched'));
    return (await eventually(launch, { message: `the launch of ${name} is told` })) === lateLaunch;
  }

  async #told(name: string): Promise<string[]> {
    const found = await this.#eventsOf(name);
    return found.map(({ type, reason }) => (type === 'Warning' ? `${reason} (W)` : reason));
  }

  /** The same once that of its launch is among them, which comes after the status. */
  eventsToLaunch(name = 'example-at'): Promise<string[]> {
    return eventually(
      async () => {
        const told = await this.events(name);
        return told.includes('Launched') && told;
      },
      { message: `the Event of the launch of ${name}` },
    );
  }

  /** The same once all are there that the operator has recorded so far: it sends them in their order. */
  async eventsSoFar(name = 'example-at'): Promise<string[]> {
    const later = `later-${randomBytes(5).toString('hex')}`;
    await this.createAt({ cancel: true }, later);
    await eventually(async () => (await this.events(later)).includes('Canceled'), {
      message: 'the Event of an At that came later',
    });
    return this.events(name);
  }

  /** Their sentences. */
  async notes(name = 'example-at'): Promise<string[]> {
    return (await this.#eventsOf(name)).map(({ note }) => note ?? '');
  }

  async #eventsOf(name: string) {
    const { items } = await this.client.list(events, { namespace: this.namespace });
    return items
      .filter(({ regarding }) => regarding.kind === 'At' && regarding.name === name)
      .sort((one, other) => one.eventTime.localeCompare(other.eventTime));
  }

  async #container(podName: string, state: object, restartCount = 0) {
    const { spec } = await this.pod(podName);
    const [main] = spec.containers;
    return {
      name: main?.name ?? '',
      image: main?.image ?? '',
      imageID: '',
      ready: false,
      restartCount,
      state,
    };
  }

  #key(name: string) {
    return { namespace: this.namespace, name };
  }
}

/** The system's clock, with a wall clock that is ahead by so many milliseconds, or behind. */
export function clockAhead(aheadMs: number): Clock {
  const { monotonic, setTimer, turn } = systemClock;
  return { now: () => systemClock.now() + aheadMs, monotonic, setTimer, turn };
}

/** `2030-01-31T09:00:00Z` */
export function seconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
