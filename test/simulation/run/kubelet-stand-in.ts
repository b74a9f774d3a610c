/** A node that runs the Pods of a simulation in the simplest way; it goes when the simulated kubelet is there. */
import type { KubernetesObject, Pod } from '../../../src/api/kubernetes.ts';
import type { Random } from '../../../src/testing/random.ts';
import type { MountedSource } from '../entry.ts';
import type { History } from '../history.ts';
import type { Cluster } from './cluster.ts';
import type { Recorder } from './recorder.ts';

interface Life {
  starts: number;
  running: boolean;
  over: boolean;
}

const flag = (words: readonly string[], name: string) =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);

export class KubeletStandIn {
  readonly #lives = new Map<string, Life>();
  readonly #cluster: Cluster;
  readonly #history: History;
  readonly #recorder: Recorder;
  readonly #random: Random;

  constructor(cluster: Cluster, history: History, recorder: Recorder) {
    this.#cluster = cluster;
    this.#history = history;
    this.#recorder = recorder;
    this.#random = cluster.simulation.random.fork('kubelet');
    cluster.etcd.onChange(({ type, resource, object, previous }) => {
      if (resource.plural === 'pods') this.#pod(type, object as Pod, previous as Pod | undefined);
      if (type === 'DELETED') this.#collect(object);
    });
  }

  get #now(): number {
    return this.#cluster.simulation.now;
  }

  #later(ms: number, run: () => void): void {
    this.#cluster.simulation.schedule(ms, run);
  }

  /** The garbage collector's part. */
  #collect(owner: KubernetesObject): void {
    this.#later(100 + this.#random.integer(2000), () => {
      for (const plural of ['pods', 'replicasets']) {
        for (const { metadata } of this.#cluster.list(plural)) {
          const isOrphan = metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
          if (isOrphan)
            this.#request(
              'gc',
              'DELETE',
              this.#cluster.pathOf(plural, metadata.namespace ?? '', metadata.name),
            );
        }
      }
    });
  }

  #request(user: string, method: 'PATCH' | 'DELETE', path: string, body?: object) {
    this.#recorder.acts(user);
    return this.#cluster.server.request(user, method, path, body);
  }

  #current(uid: string, { metadata }: Pod): Pod | undefined {
    const pod = this.#cluster.list<Pod>('pods', metadata.namespace).find((one) => one.metadata.uid === uid);
    return pod;
  }

  #pod(type: string, pod: Pod, previous: Pod | undefined): void {
    const uid = pod.metadata.uid ?? '';
    if (type === 'ADDED') {
      this.#lives.set(uid, { starts: 0, running: false, over: false });
      this.#later(20 + this.#random.integer(300), () => this.#bind(uid, pod));
      return;
    }
    if (type === 'DELETED') {
      this.#lives.delete(uid);
      return;
    }
    const deadline = pod.spec.activeDeadlineSeconds;
    if (deadline !== undefined && deadline !== previous?.spec.activeDeadlineSeconds)
      this.#limit(uid, pod, deadline);
    if (pod.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined) {
      const grace = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000;
      this.#later(this.#random.integer(Math.min(grace, 2000) + 1), () => this.#terminate(uid, pod));
    }
  }

  #limit(uid: string, pod: Pod, seconds: number): void {
    const since = Date.parse(pod.status?.startTime ?? '') || this.#now;
    this.#later(Math.max(0, since + seconds * 1000 - this.#now) + this.#random.integer(1000), () => {
      const now = this.#current(uid, pod);
      const life = this.#lives.get(uid);
      if (now?.spec.activeDeadlineSeconds !== seconds || life === undefined || life.over) return;
      this.#end(uid, now, 143, { phase: 'Failed', reason: 'DeadlineExceeded' });
    });
  }

  #terminate(uid: string, pod: Pod): void {
    const now = this.#current(uid, pod);
    const life = this.#lives.get(uid);
    if (now === undefined || life === undefined) return;
    if (life.running) this.#end(uid, now, 143, { phase: 'Failed' });
    this.#later(50, () => {
      const { namespace = '', name } = now.metadata;
      const path = this.#cluster.pathOf('pods', namespace, name);
      this.#request('kubelet', 'DELETE', path, { gracePeriodSeconds: 0, preconditions: { uid } });
    });
  }

  #bind(uid: string, pod: Pod): void {
    const now = this.#current(uid, pod);
    if (now === undefined) return;
    const { namespace = '', name } = now.metadata;
    this.#request('scheduler', 'PATCH', this.#cluster.pathOf('pods', namespace, name), {
      spec: { nodeName: 'node-0' },
    });
    this.#status(now, { startTime: text(this.#now) });
    if (now.spec.activeDeadlineSeconds !== undefined)
      this.#limit(uid, { ...now, status: { startTime: text(this.#now) } }, now.spec.activeDeadlineSeconds);
    this.#later(50 + this.#random.integer(500), () => this.#start(uid, pod));
  }

  #status(pod: Pod, status: object): void {
    const { namespace = '', name } = pod.metadata;
    this.#request('kubelet', 'PATCH', this.#cluster.pathOf('pods', namespace, name, 'status'), { status });
  }

  #containers(pod: Pod, state: object, more: object = {}) {
    const life = this.#lives.get(pod.metadata.uid ?? '');
    return pod.spec.containers.map(({ name }) => ({
      name,
      restartCount: Math.max(0, (life?.starts ?? 1) - 1),
      state,
      ready: false,
      ...more,
    }));
  }

  #start(uid: string, pod: Pod): void {
    const now = this.#current(uid, pod);
    const life = this.#lives.get(uid);
    if (now === undefined || life === undefined || life.over || now.metadata.deletionTimestamp !== undefined)
      return;
    life.starts += 1;
    life.running = true;
    const [main] = now.spec.containers;
    const words = main?.command ?? [];
    const sources = this.#sources(now);
    const { namespace = '', name } = now.metadata;
    const entry = { time: this.#now, namespace, pod: name, podUid: uid, container: main?.name ?? '' };
    this.#history.add({ type: 'container-start', ...entry, sources });
    const startedAt = text(this.#now);
    this.#status(now, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: this.#containers(now, { running: { startedAt } }),
    });
    const breaks = flag(words, 'breaks-with');
    const isBroken =
      breaks !== undefined &&
      sources.some(({ data }) => Object.values(data ?? {}).some((value) => value.includes(`-${breaks}-`)));
    if (words[0] === 'job') {
      const fails = Number(flag(words, 'fails') ?? 0);
      const code = life.starts <= fails ? 1 : Number(flag(words, 'exit') ?? 0);
      this.#later(Number(flag(words, 'for') ?? 0), () => this.#exit(uid, now, code));
    } else if (isBroken) {
      this.#later(1000, () => this.#exit(uid, now, 1));
    } else {
      this.#later(Number(flag(words, 'ready-after') ?? 0), () => this.#ready(uid, now, startedAt));
    }
  }

  #ready(uid: string, pod: Pod, startedAt: string): void {
    const now = this.#current(uid, pod);
    if (now === undefined || this.#lives.get(uid)?.running !== true) return;
    this.#status(now, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: text(this.#now) }],
      containerStatuses: this.#containers(now, { running: { startedAt } }, { ready: true }),
    });
  }

  #exit(uid: string, pod: Pod, code: number): void {
    const now = this.#current(uid, pod);
    const life = this.#lives.get(uid);
    if (now === undefined || life === undefined || !life.running) return;
    const policy = now.spec.restartPolicy ?? 'Always';
    const isAgain = policy === 'Always' || (policy === 'OnFailure' && code !== 0);
    if (!isAgain) {
      this.#end(uid, now, code, { phase: code === 0 ? 'Succeeded' : 'Failed' });
      return;
    }
    this.#ended(uid, now, code);
    const terminated = {
      exitCode: code,
      reason: code === 0 ? 'Completed' : 'Error',
      startedAt: text(this.#now),
      finishedAt: text(this.#now),
    };
    this.#status(now, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: this.#containers(
        now,
        { waiting: { reason: 'CrashLoopBackOff' } },
        { lastState: { terminated } },
      ),
    });
    this.#later(Math.min(300_000, 10_000 * 2 ** (life.starts - 1)), () => this.#start(uid, now));
  }

  #ended(uid: string, pod: Pod, exitCode: number): void {
    const life = this.#lives.get(uid);
    if (life !== undefined) life.running = false;
    const { namespace = '', name } = pod.metadata;
    const container = pod.spec.containers[0]?.name ?? '';
    this.#history.add({
      type: 'container-end',
      time: this.#now,
      namespace,
      pod: name,
      podUid: uid,
      container,
      exitCode,
    });
  }

  #end(uid: string, pod: Pod, exitCode: number, status: object): void {
    this.#ended(uid, pod, exitCode);
    const life = this.#lives.get(uid);
    if (life !== undefined) life.over = true;
    const finishedAt = text(this.#now);
    const terminated = {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: finishedAt,
      finishedAt,
    };
    this.#status(pod, {
      ...status,
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: this.#containers(pod, { terminated }),
    });
  }

  #sources({ metadata: { namespace = '' }, spec }: Pod): MountedSource[] {
    const names = spec.containers.flatMap(({ envFrom = [] }) =>
      envFrom.flatMap(({ configMapRef }) => configMapRef?.name ?? []),
    );
    return names.map((name) => {
      const source = this.#cluster
        .list<KubernetesObject & { data?: Record<string, string> }>('configmaps', namespace)
        .find(({ metadata }) => metadata.name === name);
      return { kind: 'ConfigMap', name, data: source?.data };
    });
  }
}

function text(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
