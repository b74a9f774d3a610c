/** Draws what goes wrong: at random moments, at the writes that matter, and in Sieve's three patterns. */
import type { Random } from '../../../src/testing/random.ts';
import { states } from '../states.ts';
import { commandCanary, type Draw } from './draw-ats.ts';
import type { Feature } from './features.ts';
import type { Deed, FaultPlan } from './plan.ts';

export interface Trouble {
  readonly faults: readonly FaultPlan[];
  readonly deeds: readonly Deed[];
}

export interface FaultDraw extends Draw {
  readonly replicas: number;
  readonly servers: number;
  readonly election: boolean;
  /** When something happens anyway, ms since the start. */
  readonly moments: readonly number[];
  readonly runs: readonly PlannedRun[];
}

/** When the command of an At runs, if nothing comes between, ms since the start. */
export interface PlannedRun {
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

/** The writes of both kinds, as method and part of the path. */
export const writeKinds = [
  ['POST', '/pods'],
  ['PATCH', '/status'],
  ['PATCH', '/pods/'],
  ['DELETE', '/pods/'],
  ['DELETE', '/ats/'],
  ['POST', '/eviction'],
  ['PUT', '/status'],
  ['PATCH', '/deployments/'],
  ['POST', '/events'],
  ['PUT', '/leases/'],
] as const;

/** Writes that do harm when they land long after they were given up. */
const sentLate = [
  ['POST', '/pods'],
  ['POST', '/pods'],
  ['PATCH', '/status'],
  ['DELETE', '/pods/'],
  ['POST', '/eviction'],
  ['PUT', '/status'],
] as const;

const answers = [
  403,
  409,
  422,
  429,
  500,
  503,
  504,
  'hang',
  'hang-committed',
  'cut-before',
  'cut-after',
] as const;
const networkKinds = ['requestLost', 'answerLost', 'cut', 'drip', 'delay', 'page'] as const;

export function drawTrouble(draw: FaultDraw): Trouble {
  const faults: FaultPlan[] = [];
  const deeds: Deed[] = [];
  const { random, features } = draw;
  for (const [feature, make] of makersFor(draw)) {
    if (!features.has(feature)) continue;
    const own = { ...draw, random: random.fork(feature) };
    for (let count = 1 + own.random.integer(3); count > 0; count--) faults.push(...make(own));
  }
  for (const [feature, make] of Object.entries(actors)) {
    if (!features.has(feature as Feature)) continue;
    const own = { ...draw, random: random.fork(feature) };
    for (let count = 2 + own.random.integer(6); count > 0; count--) deeds.push(make(own));
  }
  return { faults: faults.map((fault) => within(fault, draw.duration)), deeds };
}

/** Everything is over by the end. */
function within(fault: FaultPlan, duration: number): FaultPlan {
  const at = Math.min(fault.at, duration - 1);
  return 'for' in fault ? { ...fault, at, for: Math.min(fault.for, duration - at) } : { ...fault, at };
}

/** At any time, or together with something else. */
function when({ random, duration, moments }: FaultDraw): number {
  if (moments.length === 0 || random.chance(0.5)) return random.integer(duration);
  return Math.max(1, Math.min(duration - 1, random.pick(moments) - 1500 + random.integer(4000)));
}

const which = ({ random, replicas }: FaultDraw) => random.integer(replicas);
/** Mostly seconds, sometimes minutes. */
const span = (random: Random) => Math.round(100 + random.next() ** 3 * random.pick([5000, 30_000, 300_000]));

type Maker = (draw: FaultDraw) => FaultPlan[];

export const makers: Partial<Readonly<Record<Feature, Maker>>> = {
  kill: (draw) => [{ at: when(draw), fault: 'kill', replica: which(draw), for: span(draw.random) }],
  terminate: (draw) => [
    { at: when(draw), fault: 'terminate', replica: which(draw), for: span(draw.random) + 5000 },
  ],
  // A Lease is over after 15 s.
  sigstop: (draw) => [
    {
      ...{ at: when(draw), fault: 'sigstop', replica: which(draw) },
      for: draw.random.chance(0.5) ? span(draw.random) : 12_000 + draw.random.integer(20_000),
    },
  ],
  'suspend-machine': (draw) => [
    { at: when(draw), fault: 'suspend', replica: which(draw), for: span(draw.random) },
  ],
  'clock-step': (draw) => [
    {
      at: when(draw),
      fault: 'clock-step',
      replica: which(draw),
      by: draw.random.pick([-3_600_000, -5000, -100, 100, 5000, 60_000]),
    },
  ],
  partition: (draw) => [
    {
      ...{ at: when(draw), fault: 'partition', replica: which(draw), for: span(draw.random) },
      direction: draw.random.pick(['out', 'in', 'both']),
    },
  ],
  reset: (draw) => [{ at: when(draw), fault: 'reset', replica: which(draw) }],
  'half-open': (draw) => [{ at: when(draw), fault: 'half-open', replica: which(draw) }],
  'bad-network': (draw) => [
    {
      ...{ at: when(draw), fault: 'bad-network', replica: which(draw), for: span(draw.random) },
      ...{ kind: draw.random.pick(networkKinds), rate: draw.random.pick([0.02, 0.1, 0.5]) },
    },
  ],
  'kill-at-write': (draw) => {
    const [method, path] = draw.random.pick(writeKinds);
    return [
      {
        ...{ at: when(draw), fault: 'kill-at-write', replica: which(draw), method, path },
        ...{ skip: draw.random.integer(3), for: span(draw.random) },
        when: draw.random.pick(['before', 'after-commit', 'after-reply']),
      },
    ];
  },
  'write-meets': (draw) => {
    const [method, path] = draw.random.pick(writeKinds);
    return [
      {
        ...{ at: when(draw), fault: 'write-meets', method, path, skip: draw.random.integer(3) },
        ...{ times: draw.random.pick([1, 1, 2, 10]), answer: draw.random.pick(answers) },
      },
    ];
  },
  'send-meets': (draw) => {
    const [method, path] = draw.random.pick(sentLate);
    return [
      {
        ...{ at: when(draw), fault: 'send-meets', method, path, skip: draw.random.integer(2) },
        late: draw.random.pick([500, 3000, 10_000, 30_000]),
      },
    ];
  },
  aimed: (draw) => Array.from({ length: draw.random.pick([2, 4, 10]) }, () => aimedFaults(draw)).flat(),
  refuse: (draw) => {
    if (draw.runs.length > 0 && draw.random.chance(0.3)) return [refusedRecord(draw)];
    const [method, path] = draw.random.pick(writeKinds);
    const code = draw.random.pick([429, 500, 503] as const);
    return [
      { at: when(draw), fault: 'refuse', method, path, code, message: 'overloaded', for: span(draw.random) },
    ];
  },
  seats: (draw) => [fewSeats(draw)],
  quota: (draw) => [
    refusal(draw, 403, 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7'),
  ],
  'pod-quota': (draw) => [
    {
      ...{ at: when(draw), fault: 'pod-quota', room: draw.random.pick([0, 0, 1, 3]) },
      for: span(draw.random),
    },
  ],
  // The second one names no cause that others share: each At tries for itself.
  'pod-security': (draw) => [
    draw.random.chance(0.5)
      ? refusal(draw, 403, 'violates PodSecurity "restricted:latest": runAsNonRoot != true')
      : refusal(draw, 422, 'Pod is invalid: spec.runtimeClassName: Invalid value: "absent": not found'),
  ],
  restricted: (draw) => [{ at: when(draw), fault: 'restricted', for: span(draw.random) }],
  'webhook-down': (draw) => [
    refusal(
      draw,
      500,
      'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
    ),
  ],
  rbac: (draw) => [
    {
      ...{ at: when(draw), fault: 'refuse', method: '', code: 403, for: span(draw.random) },
      ...{ path: draw.random.pick(['/pods', '/ats', '/configwatchers', '/configmaps', '']) },
      message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
    },
  ],
  'watch-meets': (draw) => [
    {
      ...{ at: when(draw), fault: 'watch-meets', times: draw.random.pick([1, 1, 5]) },
      resource: draw.random.pick(['pods', 'ats', 'configwatchers', 'configmaps']),
      what: draw.random.pick(['mute', 'malformed', '410', '429', '500', 'in-stream-410']),
    },
    { at: when(draw), fault: 'close-watches' },
  ],
  'stale-cache': (draw) => [
    {
      at: when(draw),
      fault: 'stale-cache',
      server: draw.random.integer(draw.servers),
      for: span(draw.random),
    },
  ],
  'slow-cache': (draw) => [
    {
      ...{
        at: when(draw),
        fault: 'slow-cache',
        server: draw.random.integer(draw.servers),
        for: span(draw.random),
      },
      lag: draw.random.pick([50, 1000, 10_000]),
    },
  ],
  'server-down': (draw) => [
    {
      at: when(draw),
      fault: 'server-down',
      server: draw.random.integer(draw.servers),
      for: span(draw.random),
    },
  ],
  // What a watch has not been shown by then it cannot have any more, if it ends before its next bookmark.
  compact: (draw) => {
    const at = when(draw);
    const end = { at: at + draw.random.integer(3000), fault: 'close-watches' as const };
    return [{ at, fault: 'compact' }, ...(draw.random.chance(0.6) ? [end] : [])];
  },
  'close-watches': (draw) => [{ at: when(draw), fault: 'close-watches' }],
  lease: (draw) => [{ at: when(draw), fault: draw.random.pick(['lease-deleted', 'lease-stolen']) }],
  crd: (draw) => [
    {
      at: when(draw),
      fault: 'crd-removed',
      resource: draw.random.pick(['ats', 'configwatchers']),
      for: span(draw.random),
    },
  ],
  'node-loss': (draw) => [
    {
      ...{ at: when(draw), fault: 'node-off', node: draw.random.integer(3), for: span(draw.random) },
      state: draw.random.pick(['stopped', 'disconnected', 'off']),
    },
  ],
  'node-clock': (draw) => [
    {
      ...{ at: when(draw), fault: 'node-clock', node: draw.random.integer(3), for: span(draw.random) },
      skew: draw.random.pick([-120_000, -2000, 2000, 120_000]),
    },
  ],
  drain: (draw) => [
    { at: when(draw), fault: 'drain', node: draw.random.integer(3), for: 1000 + span(draw.random) },
  ],
  // Most of what there is has happened by then.
  namespace: ({ random, duration }) => [
    { at: Math.round(duration * (0.5 + random.next() / 2)), fault: 'namespace-deleted', for: span(random) },
  ],
  'unobserved-state': unobservedState,
  'stale-state': staleState,
  'intermediate-state': intermediateState,
};

/** By feature. Without an election there is no Lease that something could happen to. */
function makersFor({ election }: FaultDraw): readonly (readonly [Feature, Maker])[] {
  const all = Object.entries(makers) as [Feature, Maker][];
  return election ? all : all.filter(([feature]) => feature !== 'lease');
}

/** What strikes soon after an object has come into a state. */
function aimedFaults(draw: FaultDraw): FaultPlan[] {
  const { random, features, duration } = draw;
  const rows = states.filter(({ feature }) => features.has(feature)).map(({ row }) => row);
  if (rows.length === 0) return [];
  const [, make] = random.pick(makersFor(draw).filter(([feature]) => feature !== 'aimed'));
  const [at, on, after] = [random.integer(duration), random.pick(rows), random.pick([0, 2, 50, 1000])];
  return make(draw).map((strike) => ({ at, fault: 'aimed', on, after, strike }));
}

/** Replicas get in each other's way, and a replica in its own. */
function fewSeats(draw: FaultDraw): FaultPlan {
  const { random } = draw;
  return {
    ...{ at: when(draw), fault: 'seats', count: random.pick([1, 2]), duration: random.pick([5, 50, 500]) },
    for: span(random),
  };
}

function refusal(draw: FaultDraw, code: 403 | 422 | 500, message: string): FaultPlan {
  const told = `${message.replace(commandCanary, '')}`;
  return {
    at: when(draw),
    fault: 'refuse',
    method: 'POST',
    path: '/pods',
    code,
    message: told,
    for: span(draw.random),
  };
}

/** While an At becomes due its status is refused, for so long that its launch is late where that waits for the record. */
function refusedRecord({ random, runs }: FaultDraw): FaultPlan {
  const { name, begin } = random.pick(runs);
  return {
    ...{ at: Math.max(1, begin - 1000), fault: 'refuse', method: 'PATCH', path: `/ats/${name}/status` },
    ...{
      code: random.pick([403, 500, 503] as const),
      message: 'overloaded',
      for: 12_000 + random.integer(20_000),
    },
  };
}

/** Sieve: a state begins and ends while the replica looks at none of it. */
function unobservedState(draw: FaultDraw): FaultPlan[] {
  const [at, length] = [when(draw), span(draw.random)];
  const server = draw.random.integer(draw.servers);
  return [
    { at, fault: 'stale-cache', server, for: length },
    { at: at + length, fault: draw.random.pick(['compact', 'close-watches']) },
  ];
}

/** Sieve: a replica that has just started is shown an old state by an instance that is behind. */
function staleState(draw: FaultDraw): FaultPlan[] {
  const [at, length] = [when(draw), 10_000 + span(draw.random)];
  return [
    { at, fault: 'stale-cache', server: draw.random.integer(draw.servers), for: length },
    {
      at: at + Math.round(length / 2),
      fault: 'kill',
      replica: which(draw),
      for: draw.random.pick([10, 1000]),
    },
  ];
}

/** Sieve: a replica dies between two writes that belong together. */
function intermediateState(draw: FaultDraw): FaultPlan[] {
  const at = when(draw);
  return [0, 1, 2].map((skip) => {
    const [method, path] = draw.random.pick(writeKinds);
    return {
      ...{ at: at + skip * 5000, fault: 'kill-at-write', replica: which(draw), method, path, skip: 0 },
      ...{
        when: draw.random.pick(['after-commit', 'after-reply'] as const),
        for: draw.random.pick([10, 1000, 20_000]),
      },
    };
  });
}

const actors: Partial<Readonly<Record<Feature, (draw: FaultDraw) => Deed>>> = {
  'pod-deletes': (draw) => {
    const { random, runs } = draw;
    const index = random.integer(3);
    const what = random.pick([
      ...(['delete', 'delete', 'force-delete', 'evict'] as const),
      ...(['strip-owner', 'strip-finalizers', 'strip-label'] as const),
    ]);
    const run = random.chance(0.7) && runs.length > 0 ? random.pick(runs) : undefined;
    const name = run?.name ?? random.pick(['app-0', 'app-1', 'at-0', 'at-1', 'at-2', 'at-3']);
    // While its command runs.
    const at = run && run.begin + 1000 + random.integer(Math.max(1, Math.min(60_000, run.end - run.begin)));
    return { at: at ?? when(draw), do: 'pod', label: ['app', name], index, what };
  },
};
