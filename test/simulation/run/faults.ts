/** Inflicts the faults of a plan: on processes, the network, the API servers and the Lease. */
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { type ApiRequest, isWatch, type Method } from '../../../src/testing/api-server/api-message.ts';
import type { Fault } from '../../../src/testing/api-server/faults.ts';
import type { SimulatedApiServer } from '../../../src/testing/api-server/simulated-api-server.ts';
import { cordon, drain } from '../../../src/testing/node/drain.ts';
import type { Kubelet } from '../../../src/testing/node/kubelet.ts';
import { rowOf } from '../coverage.ts';
import type { Entry } from '../entry.ts';
import type { History } from '../history.ts';
import { namespace } from '../plan/draw-ats.ts';
import type { FaultPlan } from '../plan/plan.ts';
import { type Cluster, operatorNamespace, operatorUser } from './cluster.ts';
import type { OwnRequest, Recorder, Strikes } from './recorder.ts';
import type { Replicas } from './replicas.ts';

type FaultOf<K extends FaultPlan['fault']> = Extract<FaultPlan, { readonly fault: K }>;

/** Each returns what ends the fault, if it lasts. */
type Inflictors = { readonly [K in FaultPlan['fault']]: (plan: FaultOf<K>) => (() => void) | undefined };

/** For what lasts no time. */
function once(run: () => unknown): undefined {
  run();
}

interface Interception {
  readonly plan: FaultPlan;
  readonly matches: (request: ApiRequest) => boolean;
  readonly fault: Fault;
  skip: number;
  left: number;
}

/** What strikes at requests of replicas; made before there are replicas. */
export class KillAtWrites implements Strikes {
  readonly #armed: { readonly plan: FaultOf<'kill-at-write'>; readonly kill: () => void; skip: number }[] =
    [];

  arm(plan: FaultOf<'kill-at-write'>, kill: () => void): void {
    this.#armed.push({ plan, kill, skip: plan.skip });
  }

  before(request: OwnRequest): boolean {
    return this.#strike(request, 'before');
  }

  committed(request: OwnRequest): void {
    this.#strike(request, 'after-commit');
  }

  replied(request: OwnRequest): void {
    this.#strike(request, 'after-reply');
  }

  #strike({ method, target, replica }: OwnRequest, when: FaultOf<'kill-at-write'>['when']): boolean {
    for (const armed of this.#armed) {
      const { plan } = armed;
      const isIts = replica.startsWith(`replica-${plan.replica}#`);
      if (!isIts || plan.when !== when || plan.method !== method || !target.includes(plan.path)) continue;
      if (armed.skip-- > 0) continue;
      this.#armed.splice(this.#armed.indexOf(armed), 1);
      armed.kill();
      return true;
    }
    return false;
  }
}

const reasons: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** An answer that a Kubernetes API server gives. */
function statusFault(code: number, message: string): Fault {
  const retryAfter = code === 429 ? { retryAfter: 1 } : {};
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[code],
    code,
  };
  return {
    kind: 'status',
    code,
    ...retryAfter,
    text: JSON.stringify(status),
    contentType: 'application/json',
  };
}

const watchFaults: Readonly<Record<FaultOf<'watch-meets'>['what'], Fault>> = {
  mute: { kind: 'mute' },
  malformed: { kind: 'text', text: '{"type":"MODIFIED","object":{"kind"\n' },
  '410': statusFault(410, 'too old resource version'),
  '429': statusFault(429, 'too many requests'),
  '500': statusFault(500, 'internal error'),
  'in-stream-410': {
    kind: 'text',
    text: `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old' } })}\n`,
  },
};

const namespacePath = `/api/v1/namespaces/${namespace}`;
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${operatorNamespace}/leases/atwatch`;

/** Faults that strike later, and are told then. */
const armed: ReadonlySet<FaultPlan['fault']> = new Set([
  'write-meets',
  'watch-meets',
  'kill-at-write',
  'send-meets',
  'aimed',
]);

export class Faults {
  readonly #cluster: Cluster;
  readonly #history: History;
  readonly #recorder: Recorder;
  readonly #replicas: Replicas;
  readonly #kills: KillAtWrites;
  readonly #duration: number;
  #interceptions: Interception[] = [];
  #aimed: FaultOf<'aimed'>[] = [];
  #serial = 0;
  #quotas = 0;
  /** How many there were of each node. */
  readonly #drains = new Map<string, number>();

  /** @param duration ms since the start after which nothing strikes and nothing lasts. */
  constructor(
    cluster: Cluster,
    history: History,
    recorder: Recorder,
    replicas: Replicas,
    kills: KillAtWrites,
    duration: number,
  ) {
    this.#duration = duration;
    this.#cluster = cluster;
    this.#history = history;
    this.#recorder = recorder;
    this.#replicas = replicas;
    this.#kills = kills;
    history.onEntry((entry) => this.#see(entry));
    for (const server of cluster.instances) {
      server.intercept = (request) => {
        recorder.begins(request);
        return this.#faultFor(request);
      };
    }
  }

  /** An object has changed: what was aimed at its state strikes in a turn of its own. */
  #see(entry: Entry): void {
    if (this.#aimed.length === 0 || entry.type !== 'change' || entry.change === 'DELETED') return;
    const row = rowOf(entry.resource, entry.object);
    for (const aimed of this.#aimed.filter(({ on }) => on === row)) {
      this.#aimed = this.#aimed.filter((one) => one !== aimed);
      this.#cluster.simulation.schedule(aimed.after, () => this.#strike(aimed.strike));
    }
  }

  #strike(plan: FaultPlan): void {
    const left = this.#duration - this.#cluster.simulation.elapsed;
    if (left <= 0) return;
    this.inflict('for' in plan ? { ...plan, for: Math.min(plan.for, left) } : plan);
  }

  #faultFor(request: ApiRequest): Fault | undefined {
    if (this.#interceptions.length === 0 || request.user !== operatorUser) return undefined;
    this.#interceptions = this.#interceptions.filter(({ left }) => left > 0);
    for (const one of this.#interceptions) {
      if (!one.matches(request)) continue;
      if (one.skip-- > 0) continue;
      one.left--;
      if (one.plan.fault !== 'refuse')
        this.#tell(one.plan, 'strikes', `${describe(one.plan)}: ${request.method} ${request.path}`);
      return one.fault;
    }
    return undefined;
  }

  #tell(
    plan: FaultPlan,
    state: 'begins' | 'ends' | 'strikes',
    text = describe(plan),
    id = ++this.#serial,
  ): void {
    const replica = 'replica' in plan ? `replica-${plan.replica}` : undefined;
    this.#history.add({ type: 'fault', time: this.#now, id, kind: plan.fault, state, replica, text });
  }

  #intercept(
    plan: FaultPlan,
    matches: (request: ApiRequest) => boolean,
    fault: Fault,
    times: number,
    skip = 0,
  ): () => void {
    const interception = { plan, matches, fault, skip, left: times };
    this.#interceptions.push(interception);
    return () => {
      interception.left = 0;
    };
  }

  inflict(plan: FaultPlan): void {
    const isLong = 'for' in plan && plan.fault !== 'kill-at-write';
    const isArmed = armed.has(plan.fault);
    const id = ++this.#serial;
    // First, so that it counts for the states in which it meets the objects.
    if (!isArmed) this.#tell(plan, isLong ? 'begins' : 'strikes', describe(plan), id);
    const end = this.#begin(plan);
    if (!isLong) return;
    this.#cluster.simulation.schedule(plan.for, () => {
      end?.();
      this.#tell(plan, 'ends', describe(plan), id);
    });
  }

  get #now(): number {
    return this.#cluster.simulation.now;
  }

  /** Returns what ends it. */
  #begin<K extends FaultPlan['fault']>(plan: FaultOf<K>): (() => void) | undefined {
    const inflict = this.#inflictors[plan.fault] as (plan: FaultOf<K>) => (() => void) | undefined;
    return inflict(plan);
  }

  readonly #inflictors: Inflictors = {
    kill: ({ replica, for: ms }) => once(() => this.#replicas.kill(replica, ms)),
    terminate: ({ replica, for: ms }) => {
      const { process } = this.#replicas.replica(replica);
      this.#replicas.keepDown(replica, ms);
      process?.signal('SIGTERM');
      // The kubelet waits for the grace period.
      this.#cluster.simulation.schedule(30_000, () => process?.kill());
      return undefined;
    },
    sigstop: ({ replica }) => this.#replicas.standStill(replica, 'stop'),
    suspend: ({ replica }) => this.#replicas.standStill(replica, 'suspend'),
    'clock-step': ({ replica, by }) => once(() => this.#replicas.replica(replica).time.stepWall(by)),
    'kill-at-write': (plan) =>
      once(() =>
        this.#kills.arm(plan, () => {
          this.#tell(plan, 'strikes');
          this.#replicas.kill(plan.replica, plan.for);
        }),
      ),
    partition: ({ replica, direction }) => {
      const { link } = this.#replicas.replica(replica);
      link.partition(direction);
      return () => link.heal();
    },
    reset: ({ replica }) => once(() => this.#replicas.replica(replica).link.reset()),
    'half-open': ({ replica }) => once(() => this.#replicas.replica(replica).link.halfOpen()),
    'bad-network': ({ replica, kind, rate }) => {
      const { link } = this.#replicas.replica(replica);
      link.faultRates = { ...link.faultRates, [kind]: rate };
      return () => {
        link.faultRates = { ...link.faultRates, [kind]: 0 };
      };
    },
    'write-meets': (plan) => {
      const { method, path, skip, times, answer } = plan;
      const matches = (request: ApiRequest) => request.method === method && request.path.includes(path);
      return once(() => this.#intercept(plan, matches, answerOf(answer), times, skip));
    },
    'send-meets': (plan) => {
      const { method, path, skip, late } = plan;
      const { network, simulation } = this.#cluster;
      const delay = { kind: 'delay', request: late, answer: 0 } as const;
      return once(() =>
        network.fault({ method, target: path, skip }, delay, 1, () => {
          const id = ++this.#serial;
          this.#tell(plan, 'begins', describe(plan), id);
          simulation.schedule(late, () => this.#tell(plan, 'ends', describe(plan), id));
        }),
      );
    },
    aimed: (plan) => once(() => this.#aimed.push(plan)),
    refuse: (plan) => {
      const { method, path, code, message } = plan;
      const matches = (request: ApiRequest) =>
        (method === '' || request.method === method) &&
        request.path.includes(path) &&
        !request.path.includes('/leases');
      return this.#intercept(plan, matches, statusFault(code, message), Number.POSITIVE_INFINITY);
    },
    'pod-quota': ({ room }) => this.#fillQuota(room),
    restricted: () => {
      const enforce = (level: string | null) =>
        this.#do('PATCH', namespacePath, {
          metadata: { labels: { 'pod-security.kubernetes.io/enforce': level } },
        });
      enforce('restricted');
      return () => enforce(null);
    },
    seats: ({ count, duration }) => {
      const { instances } = this.#cluster;
      for (const server of instances) server.seats = { count, duration, retryAfter: 1 };
      return () => {
        for (const server of instances) server.seats = undefined;
      };
    },
    'watch-meets': (plan) => {
      const matches = (request: ApiRequest) => isWatch(request) && request.path.endsWith(`/${plan.resource}`);
      return once(() => this.#intercept(plan, matches, watchFaults[plan.what], plan.times));
    },
    'stale-cache': ({ server }) => {
      const { cache } = this.#instance(server);
      cache.hold();
      return () => cache.release();
    },
    'slow-cache': ({ server, lag }) => {
      const { lags } = this.#cluster;
      lags[server % lags.length] = lag;
      return () => {
        lags[server % lags.length] = 0;
      };
    },
    'server-down': ({ server }) => {
      const { name } = this.#instance(server);
      this.#cluster.network.stopServer(name);
      return () => this.#cluster.network.startServer(name);
    },
    compact: () => once(() => this.#cluster.etcd.compact()),
    'close-watches': () =>
      once(() => {
        for (const { watches } of this.#cluster.instances) for (const watch of [...watches]) watch.end();
      }),
    'lease-deleted': () => once(() => this.#toLease('lease-deleted')),
    'lease-stolen': () => once(() => this.#toLease('lease-stolen')),
    'crd-removed': (plan) => this.#removeCrd(plan),
    'node-clock': ({ node, skew }) => {
      const kubelet = this.#kubelet(node);
      kubelet.skew = skew;
      return () => {
        kubelet.skew = 0;
      };
    },
    'node-off': ({ node, state }) => {
      const kubelet = this.#kubelet(node);
      kubelet.become(state);
      return () => kubelet.become('running');
    },
    'namespace-deleted': () => this.#deleteNamespace(),
    drain: ({ node, for: timeout }) => {
      const { access, simulation } = this.#cluster;
      const { name } = this.#kubelet(node);
      const drains = (this.#drains.get(name) ?? 0) + 1;
      this.#drains.set(name, drains);
      drain({ cluster: access, random: simulation.random.fork(`drain ${name}`), node: name, timeout });
      return () => {
        // A later one of this node may last.
        if (this.#drains.get(name) === drains) cordon(access, name, false);
      };
    },
  };

  #instance(index: number): SimulatedApiServer {
    const { instances } = this.#cluster;
    return instances[index % instances.length] as SimulatedApiServer;
  }

  #kubelet(index: number): Kubelet {
    const { kubelets } = this.#cluster;
    return kubelets[index % kubelets.length] as Kubelet;
  }

  /** What an administrator asks for. Returns the code of the answer. */
  #do(method: Method, path: string, body?: object): number {
    return this.#cluster.api.request('mallory', method, path, body).code;
  }

  #fillQuota(room: number): () => void {
    const living = this.#cluster.list<Pod>('pods').filter(({ status }) => {
      return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
    });
    const path = this.#cluster.pathOf('resourcequotas');
    const name = `quota-${++this.#quotas}`;
    this.#do('POST', path, { metadata: { name }, spec: { hard: { pods: String(living.length + room) } } });
    return () => {
      this.#do('DELETE', `${path}/${name}`);
    };
  }

  #toLease(fault: 'lease-deleted' | 'lease-stolen'): void {
    const renewTime = new Date(this.#now).toISOString().replace('Z', '000Z');
    if (fault === 'lease-deleted') this.#do('DELETE', leasePath);
    else this.#do('PATCH', leasePath, { spec: { holderIdentity: 'mallory', renewTime } });
  }

  #deleteNamespace(): () => void {
    const { simulation } = this.#cluster;
    this.#do('DELETE', namespacePath);
    const again = (tries: number): void => {
      const there = this.#cluster.etcd.get(this.#cluster.resource('namespaces'), '', namespace);
      if (there && there.metadata.deletionTimestamp === undefined) return;
      const code = this.#do('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
      if (code === 409 && tries > 0) simulation.schedule(1000, () => again(tries - 1));
    };
    return () => again(300);
  }

  #removeCrd({ resource: plural }: FaultOf<'crd-removed'>): () => void {
    const { instances: servers, etcd } = this.#cluster;
    const resource = this.#cluster.resource(plural);
    this.#recorder.acts('mallory');
    const removed = this.#cluster.list(plural).map((object) => ({ resource, object }));
    if (removed.length > 0) etcd.removeAll(removed);
    for (const server of servers) server.unregister(resource);
    return () => {
      for (const server of servers) server.register(resource);
    };
  }
}

function answerOf(answer: FaultOf<'write-meets'>['answer']): Fault {
  switch (answer) {
    case 'hang':
      return { kind: 'hang' };
    case 'hang-committed':
      return { kind: 'hang', commit: true };
    case 'cut-before':
      return { kind: 'cut', when: 'before' };
    case 'cut-after':
      return { kind: 'cut', when: 'after' };
    default:
      return statusFault(answer, `simulated ${answer}`);
  }
}

/** `kill replica 1 for 3.2 s` */
export function describe({ at: _, fault, ...rest }: FaultPlan): string {
  const details = Object.entries(rest).map(([name, value]) =>
    name === 'for' ? `for ${value} ms` : `${name} ${typeof value === 'object' ? describe(value) : value}`,
  );
  return [fault, ...details].join(' ');
}
