/** Inflicts the faults of a plan: on processes, the network, the API servers and the Lease. */
import { type ApiRequest, isWatch } from '../../../src/testing/api-server/api-message.ts';
import type { Fault } from '../../../src/testing/api-server/faults.ts';
import type { History } from '../history.ts';
import type { FaultPlan } from '../plan/plan.ts';
import { type Cluster, operatorNamespace } from './cluster.ts';
import type { OwnRequest, Recorder, Strikes } from './recorder.ts';
import { operatorUser, type Replicas } from './replicas.ts';

type FaultOf<K extends FaultPlan['fault']> = Extract<FaultPlan, { readonly fault: K }>;

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

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${operatorNamespace}/leases/atwatch`;

export class Faults {
  readonly #cluster: Cluster;
  readonly #history: History;
  readonly #recorder: Recorder;
  readonly #replicas: Replicas;
  readonly #kills: KillAtWrites;
  #interceptions: Interception[] = [];
  #serial = 0;

  constructor(
    cluster: Cluster,
    history: History,
    recorder: Recorder,
    replicas: Replicas,
    kills: KillAtWrites,
  ) {
    this.#cluster = cluster;
    this.#history = history;
    this.#recorder = recorder;
    this.#replicas = replicas;
    this.#kills = kills;
    for (const server of cluster.instances) {
      server.intercept = (request) => {
        recorder.begins(request);
        return this.#faultFor(request);
      };
    }
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
    const end = this.#begin(plan);
    const isLong = 'for' in plan && plan.fault !== 'kill-at-write';
    const isArmed =
      plan.fault === 'write-meets' || plan.fault === 'watch-meets' || plan.fault === 'kill-at-write';
    const id = ++this.#serial;
    if (!isArmed) this.#tell(plan, isLong ? 'begins' : 'strikes', describe(plan), id);
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
  #begin(plan: FaultPlan): (() => void) | undefined {
    switch (plan.fault) {
      case 'kill':
      case 'terminate':
      case 'sigstop':
      case 'suspend':
      case 'clock-step':
      case 'kill-at-write':
        return this.#toProcess(plan);
      case 'partition':
      case 'reset':
      case 'half-open':
      case 'bad-network':
        return this.#toNetwork(plan);
      case 'write-meets':
      case 'refuse':
      case 'watch-meets':
        return this.#toRequests(plan);
      case 'stale-cache':
      case 'slow-cache':
      case 'server-down':
        return this.#toServer(plan);
      case 'compact':
        this.#cluster.etcd.compact();
        return undefined;
      case 'close-watches':
        for (const server of this.#cluster.instances) for (const watch of [...server.watches]) watch.end();
        return undefined;
      case 'lease-deleted':
      case 'lease-stolen':
        this.#toLease(plan.fault);
        return undefined;
      case 'crd-removed':
        return this.#removeCrd(plan);
      case 'node-clock':
      case 'node-off':
        return this.#toNode(plan);
    }
  }

  #toProcess(
    plan: FaultOf<'kill' | 'terminate' | 'sigstop' | 'suspend' | 'clock-step' | 'kill-at-write'>,
  ): (() => void) | undefined {
    const { process, time } = this.#replicas.replica(plan.replica);
    switch (plan.fault) {
      case 'kill':
        this.#replicas.kill(plan.replica, plan.for);
        return undefined;
      case 'terminate':
        this.#replicas.keepDown(plan.replica, plan.for);
        process?.signal('SIGTERM');
        // The kubelet waits for the grace period.
        this.#cluster.simulation.schedule(30_000, () => process?.kill());
        return undefined;
      case 'sigstop':
        process?.stop();
        return () => process?.continue();
      case 'suspend':
        process?.suspend();
        return () => process?.resume();
      case 'clock-step':
        time.stepWall(plan.by);
        return undefined;
      case 'kill-at-write':
        this.#kills.arm(plan, () => {
          this.#tell(plan, 'strikes');
          this.#replicas.kill(plan.replica, plan.for);
        });
        return undefined;
    }
  }

  #toNetwork(plan: FaultOf<'partition' | 'reset' | 'half-open' | 'bad-network'>): (() => void) | undefined {
    const { link } = this.#replicas.replica(plan.replica);
    switch (plan.fault) {
      case 'partition':
        link.partition(plan.direction);
        return () => link.heal();
      case 'reset':
        link.reset();
        return undefined;
      case 'half-open':
        link.halfOpen();
        return undefined;
      case 'bad-network':
        link.faultRates = { ...link.faultRates, [plan.kind]: plan.rate };
        return () => {
          link.faultRates = { ...link.faultRates, [plan.kind]: 0 };
        };
    }
  }

  #toRequests(plan: FaultOf<'write-meets' | 'refuse' | 'watch-meets'>): (() => void) | undefined {
    switch (plan.fault) {
      case 'write-meets': {
        const { method, path, skip, times, answer } = plan;
        const matches = (request: ApiRequest) => request.method === method && request.path.includes(path);
        return this.#intercept(plan, matches, answerOf(answer), times, skip);
      }
      case 'refuse': {
        const { method, path, code, message } = plan;
        const matches = (request: ApiRequest) =>
          (method === '' || request.method === method) &&
          request.path.includes(path) &&
          !request.path.includes('/leases');
        return this.#intercept(plan, matches, statusFault(code, message), Number.POSITIVE_INFINITY);
      }
      case 'watch-meets': {
        const matches = (request: ApiRequest) =>
          isWatch(request) && request.path.endsWith(`/${plan.resource}`);
        this.#intercept(plan, matches, watchFaults[plan.what], plan.times);
        return undefined;
      }
    }
  }

  #toServer(plan: FaultOf<'stale-cache' | 'slow-cache' | 'server-down'>): () => void {
    const { instances: servers, lags, network } = this.#cluster;
    const index = plan.server % servers.length;
    const server = servers[index];
    switch (plan.fault) {
      case 'stale-cache':
        server?.cache.hold();
        return () => server?.cache.release();
      case 'slow-cache':
        lags[index] = plan.lag;
        return () => {
          lags[index] = 0;
        };
      case 'server-down':
        network.stopServer(`api-${index}`);
        return () => network.startServer(`api-${index}`);
    }
  }

  #toLease(fault: 'lease-deleted' | 'lease-stolen'): void {
    const { api: server } = this.#cluster;
    this.#recorder.acts('mallory');
    if (fault === 'lease-deleted') {
      server.request('mallory', 'DELETE', leasePath);
      return;
    }
    const renewTime = new Date(this.#now).toISOString().replace('Z', '000Z');
    server.request('mallory', 'PATCH', leasePath, { spec: { holderIdentity: 'mallory', renewTime } });
  }

  #toNode(plan: FaultOf<'node-clock' | 'node-off'>): () => void {
    const { kubelets } = this.#cluster;
    const kubelet = kubelets[plan.node % kubelets.length];
    if (plan.fault === 'node-off') {
      kubelet?.become(plan.state);
      return () => kubelet?.become('running');
    }
    if (kubelet !== undefined) kubelet.skew = plan.skew;
    return () => {
      if (kubelet !== undefined) kubelet.skew = 0;
    };
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
    name === 'for' ? `for ${value} ms` : `${name} ${value}`,
  );
  return [fault, ...details].join(' ');
}
