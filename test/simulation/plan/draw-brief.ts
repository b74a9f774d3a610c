/**
 * Draws brief plans: one due time or a few edits, two API servers, and faults that crowd around that. A long plan comes
 * to such a meeting of two or three faults once in a thousand runs; of these a dozen take a second.
 */
import { Random } from '../../../src/testing/random.ts';
import { app, at, budget, edit, fullQuota, owner } from '../regressions/parts.ts';
import { absentImage, namespace } from './draw-ats.ts';
import type { Deed, FaultPlan, Plan } from './plan.ts';

/** What matters happens in this time, ms since the start. */
const [crowdFrom, crowdFor] = [20_000, 25_000];
const dueAt = 30_000;
const schedule = '2024-01-01T00:00:30Z';
const servers = 2;

export function drawBrief(seed: string): Plan {
  const random = new Random(`brief ${seed}`);
  const replicas = 1 + random.integer(3);
  const { deeds, faults, count } = briefOf(random);
  const others = Array.from({ length: count }, () => drawFault(random, replicas));
  return {
    ...{ seed, duration: 180_000, replicas, servers, election: random.chance(0.5), features: [] },
    clocks: Array.from({ length: replicas }, () => ({ skew: 0, drift: 0 })),
    deeds: deeds.sort((one, other) => one.at - other.at),
    faults: [...faults, ...others].sort((one, other) => one.at - other.at),
  };
}

function briefOf(random: Random): Brief {
  if (random.fork('broken content').chance(0.06)) return drawBroken(random);
  if (random.fork('abandoned').chance(0.06)) return drawAbandoned(random);
  if (random.fork('taken back').chance(0.06)) return drawTakenBack(random);
  if (random.fork('out of reach').chance(0.06)) return drawOutOfReach(random);
  if (random.fork('template refused').chance(0.04)) return drawTemplateRefused(random);
  return random.chance(0.06) ? drawLine(random) : drawMeeting(random);
}

interface Brief {
  readonly deeds: Deed[];
  readonly faults: readonly FaultPlan[];
  /** How many faults of any kind come besides. */
  readonly count: number;
}

function drawMeeting(random: Random): Brief {
  const deeds = random.chance(0.5) ? drawAts(random) : drawWatcher(random);
  return { deeds, faults: [], count: 2 + random.integer(4) };
}

/** A content breaks the Pod of the smallest of two owners, and people do something to that before they mend the content. */
function drawBroken(random: Random): Brief {
  const type = random.pick(['Auto', 'Evict', 'RolloutRestart']);
  const when = crowdFrom + 30_000 + random.integer(40_000);
  const small = { at: when, resource: 'deployments', name: 'small' } as const;
  const annotations = { 'k8spatterns.io/restarted-for.app': null };
  const label = ['part', 'small'] as const;
  const again = { ...owner('deployments', 'small', 'app', { replicas: 1 }), at: when + 1000 };
  return {
    deeds: [
      ...app({ strategy: { type }, debounce: { quiet: '0s' } }),
      owner('deployments', 'small', 'app', { replicas: 1 }),
      edit(crowdFrom, { message: 'a-bad-one' }),
      ...random.pick<Deed[]>([
        [{ ...small, do: 'patch', body: { spec: { replicas: 0 } } }],
        [{ ...small, do: 'patch', body: { spec: { template: { metadata: { annotations } } } } }],
        [{ at: when, do: 'pod', label, index: 0, what: 'delete' }],
        [{ ...small, do: 'delete' }, again],
      ]),
      edit(130_000, { message: 'two' }),
    ],
    faults: [],
    count: random.integer(2),
  };
}

/** What has changed is not watched any more, or no Pod is selected, and after a while it is as before. */
function drawAbandoned(random: Random): Brief {
  const when = crowdFrom + 500 + random.integer(8000);
  const again = when + random.pick([2000, 20_000, 90_000]);
  const unlabeled = [{ key: 'app', operator: 'DoesNotExist' }];
  const narrow = random.pick([{ configMap: 'other' }, { podSelectorExpressions: unlabeled }]);
  const patch = (at: number, spec: object): Deed => {
    return { at, do: 'patch', resource: 'configwatchers', name: 'app', body: { spec } };
  };
  const metadata = { name: 'other', namespace };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { message: 'other' } };
  return {
    deeds: [
      ...app({ debounce: { quiet: random.pick(['0s', '5s']) } }),
      { at: 0, do: 'create', resource: 'configmaps', name: 'other', object },
      edit(crowdFrom, { message: 'two' }),
      patch(when, narrow),
      patch(again, { configMap: 'app', podSelectorExpressions: null }),
    ],
    faults: [],
    count: random.integer(3),
  };
}

/** An edit is taken back before it is applied, or as it is, and a Pod was made in between. */
function drawTakenBack(random: Random): Brief {
  const what = random.pick(['delete', 'force-delete', 'evict'] as const);
  const when = crowdFrom + random.integer(1500);
  return {
    deeds: [
      ...app({ debounce: { quiet: random.pick(['2s', '10s']) } }),
      edit(crowdFrom, { message: 'two' }),
      { at: when, do: 'pod', label: ['app', 'app'], index: 0, what },
      edit(when + 2500 + random.integer(6000), { message: 'one' }),
    ],
    faults: [],
    count: random.integer(3),
  };
}

/** A Pod cannot start, its nodes answer no more before it is given up, and then its user wants its At ended. */
function drawOutOfReach(random: Random): Brief {
  const pendingTimeoutSeconds = 10 + random.integer(20);
  const when = dueAt + (pendingTimeoutSeconds + random.integer(240)) * 1000;
  const spec = {
    ...{ schedule, pendingTimeoutSeconds, image: absentImage },
    ...(random.chance(0.5) && { launchGuarantee: 'ExactlyOnce' }),
  };
  const state = random.pick(['stopped', 'disconnected', 'off'] as const);
  const off = dueAt + random.pick([-1000, 5000]);
  return {
    deeds: [
      at('at-0', spec),
      { at: when, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { cancel: true } } },
    ],
    faults: [0, 1, 2].map((node) => ({ at: off, fault: 'node-off', node, state, for: 600_000 })),
    count: random.integer(2),
  };
}

/** The template of an owner may not be changed until the restart is stuck. */
function drawTemplateRefused(random: Random): Brief {
  const progressDeadlineSeconds = 10 + random.integer(20);
  const type = random.pick(['Auto', 'RolloutRestart', 'RolloutRestart']);
  const length = (progressDeadlineSeconds + random.integer(60)) * 1000;
  const refused = { method: 'PATCH', path: '/daemonsets', code: random.pick([403, 422, 500] as const) };
  return {
    deeds: [...app({ strategy: { type, progressDeadlineSeconds } }), edit(crowdFrom, { message: 'two' })],
    faults: [{ at: crowdFrom - 1000, fault: 'refuse', ...refused, message: 'not now', for: length }],
    count: random.integer(2),
  };
}

/** So many Ats that they wait in line for a quota, and most of them are wanted no more while they do. */
function drawLine(random: Random): Brief {
  const names = Array.from({ length: 14 }, (_, index) => `at-${index}`);
  const length = 20_000 + random.integer(50_000);
  const later = { schedule: '2024-01-01T05:00:00Z' };
  const leave = (name: string): Deed => {
    const when = dueAt + 5000 + random.integer(length);
    const spec = random.pick([later, later, later, { suspend: true }, { cancel: true }]);
    return { at: when, do: 'patch', resource: 'ats', name, body: { spec } };
  };
  return {
    deeds: [
      ...names.map((name) => at(name, { schedule, command: 'job --for=400000' })),
      ...names.slice(3).map(leave),
    ],
    faults: [fullQuota(dueAt - 1000, length)],
    count: random.integer(2),
  };
}

function drawAts(random: Random): Deed[] {
  return Array.from({ length: 1 + random.integer(2) }, (_, index) => lifeOf(`at-${index}`, random)).flat();
}

function lifeOf(name: string, random: Random): Deed[] {
  const born = random.pick([1, 10_000, dueAt - 1000, dueAt - 100, dueAt + 1000]);
  const length = random.pick([0, 500, 2000, 400_000]);
  const spec = {
    ...{ schedule, command: `job --for=${length} --exit=${random.pick([0, 0, 1, 3])}` },
    ...(random.chance(0.5) && { disruptionPolicy: 'Retry' }),
    ...(random.chance(0.4) && { launchGuarantee: 'ExactlyOnce' }),
    ...(random.chance(0.3) && { startingDeadlineSeconds: random.pick([1, 5]) }),
    ...(random.chance(0.3) && { backoffLimit: random.integer(2) }),
    ...(random.chance(0.2) && { suspend: true }),
  };
  const acts = Array.from({ length: random.integer(3) }, () => {
    return actOn(name, born + 1 + random.integer(dueAt), random);
  });
  return [at(name, { ...spec, ...besides(random.fork('besides')) }, born), ...acts];
}

/** What runs beside the command, and a deadline that may meet its end. */
function besides(random: Random): object {
  const serve = { name: 'mesh', image: 'shop', command: ['serve', '--ends-in=20000'] };
  const helper = { name: 'helper', image: 'shop', command: ['job', '--for=1500', '--exit=1'] };
  const spec = random.pick([
    { initContainers: [{ ...serve, restartPolicy: 'Always' }] },
    { containers: [{ name: 'main' }, random.pick([serve, helper])] },
  ]);
  return random.chance(0.3) ? { template: { spec }, activeDeadlineSeconds: random.pick([1, 3]) } : {};
}

function actOn(name: string, when: number, random: Random): Deed {
  const toPod = (what: 'delete' | 'force-delete' | 'strip-owner'): Deed => {
    return { at: when, do: 'pod', label: ['app', name], index: 0, what };
  };
  const patch = (spec: object): Deed => ({ at: when, do: 'patch', resource: 'ats', name, body: { spec } });
  return random.pick([
    toPod('delete'),
    toPod('force-delete'),
    toPod('strip-owner'),
    patch({ suspend: random.chance(0.5) }),
    patch({ cancel: true }),
    patch({ schedule: '2024-01-01T00:00:40Z' }),
    { at: when, do: 'delete', resource: 'ats', name },
  ]);
}

function drawWatcher(random: Random): Deed[] {
  const type = random.chance(0.4) && { type: random.pick(['Evict', 'RolloutRestart', 'Delete', 'Auto']) };
  const debounce = random.chance(0.5) && { debounce: { quiet: '0s' } };
  return [
    ...app({ strategy: { maxUnavailable: random.pick(['50%', '100%', 1]), ...type }, ...debounce }),
    ...(random.chance(0.2) ? [budget('app')] : []),
    ...Array.from({ length: 1 + random.integer(4) }, () => editOf(random)),
  ];
}

function editOf(random: Random): Deed {
  const when = crowdFrom + random.integer(crowdFor);
  const patch = (resource: string, body: object): Deed => {
    return { at: when, do: 'patch', resource, name: 'app', body };
  };
  const content = (values: readonly string[]) =>
    patch('configmaps', { data: { message: random.pick(values) } });
  return random.pick([
    content(['one', 'two', 'three']),
    content(['one', 'two', 'a-bad-one']),
    patch('configmaps', { metadata: { labels: { edited: `${when}` } } }),
    patch('configwatchers', { spec: { suspend: random.chance(0.5) } }),
    { at: when, do: 'pod', label: ['app', 'app'], index: 0, what: 'delete' },
    { at: when, do: 'delete', resource: 'configmaps', name: 'app' },
  ]);
}

/** Of one kind of write, for a while. */
function drawRefusal(random: Random) {
  const write = random.pick([
    { method: 'POST', path: '/pods' },
    { method: 'PATCH', path: '/pods/' },
    { method: 'PATCH', path: '/status' },
    { method: 'PUT', path: '/status' },
  ]);
  return { ...write, code: random.pick([403, 429, 500] as const) };
}

function drawFault(random: Random, replicas: number): FaultPlan {
  const when = crowdFrom + random.integer(crowdFor);
  const [replica, server] = [random.integer(replicas), random.integer(servers)];
  const length = random.pick([100, 500, 2000, 5000, 20_000, 40_000]);
  const write = {
    ...{ method: random.pick(['POST', 'PATCH', 'PUT']), path: random.pick(['/pods', '/status']) },
    ...{ skip: random.integer(2), when: random.pick(['before', 'after-commit', 'after-reply'] as const) },
  };
  const stale: FaultPlan = { at: when, fault: 'stale-cache', server, for: length };
  return random.pick<FaultPlan>([
    // Two views of different age are what most of these meetings need.
    ...[stale, stale, stale],
    { at: when, fault: 'slow-cache', server, for: length, lag: random.pick([500, 3000, 10_000]) },
    { at: when, fault: 'server-down', server, for: length },
    { at: when, fault: 'kill', replica, for: random.pick([1000, 5000]) },
    { at: when, fault: 'kill-at-write', replica, ...write, for: 1000 },
    { at: when, fault: 'sigstop', replica, for: length },
    { at: when, fault: random.pick(['half-open', 'reset']), replica },
    { at: when, fault: random.pick(['close-watches', 'compact']) },
    { at: when, fault: 'refuse', ...drawRefusal(random), message: 'not now', for: Math.min(length, 20_000) },
  ]);
}
