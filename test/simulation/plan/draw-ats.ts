/** Draws Ats and what people do to them. */
import type { AtSpec } from '../../../src/api/at.generated.ts';
import type { Random } from '../../../src/testing/random.ts';
import { dueTimeOf } from '../schedule.ts';
import { byDeveloper, grant, revoke } from './draw-authors.ts';
import type { Feature } from './features.ts';
import type { Creation, Deed } from './plan.ts';

export const namespace = 'shop';
/** True time at the start of every run, epoch ms. */
export const startsAt = Date.UTC(2024, 0, 1);
/** Part of every command and of every value in a ConfigMap or Secret: it must appear nowhere else. */
export const commandCanary = 'c4nary-command';

export interface Draw {
  readonly random: Random;
  readonly features: ReadonlySet<Feature>;
  readonly duration: number;
}

type Spec = Record<string, unknown>;

export function drawAts({ random, features, duration }: Draw): Deed[] {
  if (!features.has('at')) return [];
  const count = features.has('at-crowd') ? 10 + random.integer(40) : 1 + random.integer(8);
  const crowdTime = random.integer(duration);
  const ats = Array.from({ length: count }, (_, index): Deed[] => {
    const isCrowd = features.has('at-crowd') && random.chance(0.8);
    const draw = { random: random.fork(`at ${index}`), features, duration };
    return lifeOf(`at-${index}`, draw, isCrowd ? crowdTime : undefined);
  }).flat();
  const labels = random.chance(0.5) ? tapeDrive : { tape: null };
  const at = random.integer(duration);
  return features.has('at-unschedulable')
    ? [...ats, { at, do: 'patch', resource: 'nodes', name: 'node-1', body: { metadata: { labels } } }]
    : ats;
}

/** `2024-01-01T00:05:00.25Z` or in a zone, at so many ms since the start. */
function scheduleOf(random: Random, at: number, zoned: boolean): Spec {
  const text = new Date(startsAt + at).toISOString();
  if (zoned) {
    // In January two hours ahead of UTC.
    const local = new Date(startsAt + at + 2 * 3_600_000).toISOString().replace('Z', '');
    return { schedule: local, timeZone: 'Africa/Cairo' };
  }
  if (random.chance(0.3)) return { schedule: text.replace('Z', '0001Z') };
  return { schedule: random.chance(0.5) ? text.replace(/\.\d+Z/, 'Z') : text };
}

function drawSpec({ random, features, duration }: Draw, crowdTime: number | undefined): Spec {
  const isPast = random.chance(0.15);
  const due = isPast ? -random.integer(86_400_000) : (crowdTime ?? random.integer(duration));
  const spec: Spec = {
    ...scheduleOf(random, due, features.has('at-zone') && random.chance(0.5)),
    command: commandOf(random),
    backoffLimit: random.pick([0, 0, 1, 6]),
  };
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.5);
  if (chance('at-retry')) spec.disruptionPolicy = 'Retry';
  if (chance('at-exactly-once')) spec.launchGuarantee = random.pick(['ExactlyOnce', 'AtMostOnce']);
  if (chance('at-deadlines')) {
    if (random.chance(0.5)) spec.startingDeadlineSeconds = random.pick([1, 10, 60, 600]);
    if (random.chance(0.5)) spec.activeDeadlineSeconds = random.pick([1, 5, 30, 300]);
    if (random.chance(0.5)) spec.pendingTimeoutSeconds = random.pick([0, 1, 10, 60]);
  }
  if (chance('at-ttl')) spec.ttlSecondsAfterFinished = random.pick([0, 1, 60, 600]);
  if (chance('at-suspend')) spec.suspend = true;
  return { ...spec, ...podSpecOf(random, chance) };
}

/** What its Pod is made from beside the command, and what keeps that from running. */
function podSpecOf(random: Random, chance: (feature: Feature) => boolean): Spec {
  return {
    ...(chance('at-template') && { template: templateOf(random) }),
    ...(chance('at-image') && { image: absentImage }),
    ...(chance('at-unschedulable') && { template: { spec: { nodeSelector: tapeDrive } } }),
    ...(chance('at-invalid') && invalidSpec(random)),
    ...(chance('at-cannot-start') && unstartableSpec(random)),
  };
}

/** No registry has it. */
export const absentImage = 'absent';
/** A label that a node has only when a user gives it one. */
export const tapeDrive = { tape: 'yes' };

/** What the API server accepts and the controller cannot. */
function invalidSpec(random: Random): Spec {
  return random.pick([
    { command: `job 'not closed ${commandCanary}` },
    { template: { spec: { restartPolicy: 'Always' } } },
    { template: { spec: { containers: [{ name: 'Not A Name' }] } } },
  ]);
}

/** No node has it. */
export const absentProgram = 'absent-program';
/** No registry is asked for it. */
export const invalidImage = 'Not/A/Name';

/** It reads a ConfigMap that is not there. */
export const absentSource = {
  spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'absent' } }] }] },
};

/** What no container can be started with, however often it is tried. */
function unstartableSpec(random: Random): Spec {
  return random.pick([
    { command: `${absentProgram} ${commandCanary}`, backoffLimit: 6 },
    { image: invalidImage },
    { template: absentSource },
  ]);
}

/** How long it runs, how it ends, how often it fails before, and whether it ends by itself when it is asked to. */
function commandOf(random: Random): string {
  const time = random.pick([0, 10, 1000, 20_000, 60_000, 120_000, 400_000]);
  const [exit, fails] = [random.pick([0, 0, 0, 1, 3]), random.pick([0, 0, 0, 1, 2, 9])];
  const onTerm = random.chance(0.7) ? ` --on-term=${random.pick([0, 0, 0, 2])}` : '';
  return `job --for=${time} --exit=${exit} --fails=${fails}${onTerm} ${commandCanary}`;
}

function templateOf(random: Random): Spec {
  const serve = ['serve', `--ends-in=${random.fork('sidecar').pick([100, 5000, 60_000])}`];
  const sidecar = { name: 'helper', image: 'helper', command: serve, restartPolicy: 'Always' };
  return {
    metadata: { labels: { team: 'blue' } },
    spec: {
      terminationGracePeriodSeconds: random.pick([0, 1, 30]),
      ...(random.chance(0.3) && { initContainers: [sidecar] }),
    },
  };
}

/** A user's Ats of one name, one after the other. */
interface Life extends Draw {
  readonly name: string;
  readonly crowdTime: number | undefined;
  /** When the first of them comes, and when it falls due, ms since the start. */
  readonly born: number;
  readonly due: number;
  /** At any time, or when it is due: people come back then to see it run, or because it does not. */
  readonly later: () => number;
}

function lifeOf(name: string, draw: Draw, crowdTime: number | undefined): Deed[] {
  const { random, duration } = draw;
  const spec = drawSpec(draw, crowdTime);
  const born = random.chance(0.4) ? 0 : random.integer(duration);
  const due = dueTimeOf(spec as unknown as AtSpec) - startsAt;
  const isNear = () => due > born && due < duration && random.chance(0.5);
  const later = () =>
    isNear()
      ? Math.max(born + 1, due - 1000 + random.integer(6000))
      : born + random.integer(Math.max(1, duration - born));
  const life: Life = { ...draw, name, crowdTime, born, due, later };
  const creation = createAt(life.name, born, spec);
  return [...askedFor(life, creation), ...editsOf(life, spec), ...endsOf(life), ...hostileDeeds(life)];
}

/** Who asks for it, and whether that user may create Pods. */
function askedFor({ name, random, features, born, later }: Life, creation: Creation): Deed[] {
  if (!features.has('at-author') || random.chance(0.4)) return [creation];
  const rights = random.pick([
    [],
    [grant(name, later())],
    [grant(name, born), revoke(name, later())],
    [grant(name, 1), revoke(name, later()), grant(name, later())],
  ]);
  return [byDeveloper(creation), ...rights];
}

/** A user creates an At of this name. */
export function createAt(name: string, at: number, spec: object): Creation {
  const apiVersion = 'cnat.programming-kubernetes.info/v1alpha1';
  const object = { apiVersion, kind: 'At', metadata: { name, namespace }, spec };
  return { at, do: 'create', resource: 'ats', name, object };
}

/** A command that runs for longer than most of a plan. `due`: ms since the start. */
export function longJob(due: number): object {
  return {
    schedule: new Date(startsAt + due).toISOString(),
    command: `job --for=400000 ${commandCanary}`,
  };
}

function chanceOf({ features, random }: Draw): (feature: Feature) => boolean {
  return (feature) => features.has(feature) && random.chance(0.4);
}

function editsOf(life: Life, { suspend }: Spec): Deed[] {
  const { name, random, born, due, later } = life;
  const chance = chanceOf(life);
  const deeds: Deed[] = [];
  const patch = (at: number, spec: Spec): Deed => {
    return { at, do: 'patch', resource: 'ats', name, body: { spec } };
  };
  if (chance('at-edit')) {
    for (let edits = 1 + random.integer(3); edits > 0; edits--) deeds.push(patch(later(), editOf(life)));
  }
  if (chance('at-touch')) {
    for (let touches = 1 + random.integer(3); touches > 0; touches--) deeds.push(touchOf(life, later()));
    // In the last second before it is due, too.
    if (due > born + 1000) deeds.push(touchOf(life, due - 1 - random.integer(1000)));
  }
  if (suspend === true || chance('at-suspend')) {
    deeds.push(patch(later(), { suspend: random.chance(0.5) }), patch(later(), { suspend: false }));
  }
  if (!chance('at-cancel')) return deeds;
  const canceledAt = later();
  // What was seen of it holds.
  const taken = random.chance(0.3) ? [patch(canceledAt + random.integer(30_000), { cancel: false })] : [];
  return [...deeds, patch(canceledAt, { cancel: true }), ...taken];
}

function endsOf(life: Life): Deed[] {
  const { name, random, features, later } = life;
  const chance = chanceOf(life);
  if (!chance('at-delete') && !chance('at-recreate')) return [];
  const at = later();
  const propagation = random.pick(['Background', 'Background', 'Foreground', 'Orphan'] as const);
  const deletion: Deed = { at, do: 'delete', resource: 'ats', name, propagation };
  if (!features.has('at-recreate')) return [deletion];
  return [deletion, createAt(name, at + random.pick([1, 100, 5000]), drawSpec(life, life.crowdTime))];
}

function hostileDeeds(life: Life): Deed[] {
  const { name, random, later } = life;
  const chance = chanceOf(life);
  return [
    ...(chance('at-stranger') ? [strangerOf(`${name}-pod`, random.chance(0.5) ? 0 : later())] : []),
    ...(chance('at-forge') ? [forgeryOf(name, later(), random)] : []),
  ];
}

/** Another program writes something that is of no interest to the operator. */
function touchOf({ name, random }: Life, at: number): Deed {
  const body = { metadata: { annotations: { touched: String(random.integer(1000)) } } };
  return { at, do: 'patch', resource: 'ats', name, body };
}

function editOf(draw: Draw): Spec {
  const { random, duration } = draw;
  return random.pick([
    () => scheduleOf(random, random.integer(duration), false),
    () => ({ command: commandOf(random) }),
    () => ({ activeDeadlineSeconds: random.pick([1, 10, 100]) }),
    () => ({ ttlSecondsAfterFinished: random.pick([0, 30]) }),
    () => ({ backoffLimit: random.integer(3) }),
    () => ({ image: 'busybox' }),
  ])();
}

/** Another owner's Pod under the name that the At needs. */
export function strangerOf(name: string, at: number): Deed {
  const metadata = { name, namespace, labels: { app: 'stranger' } };
  const spec = { containers: [{ name: 'main', image: 'busybox', command: ['serve'] }] };
  return {
    at,
    do: 'create',
    resource: 'pods',
    name,
    object: { apiVersion: 'v1', kind: 'Pod', metadata, spec },
  };
}

function forgeryOf(name: string, at: number, random: Random): Deed {
  const status = random.pick([
    { phase: 'RUNNING' },
    { attempts: 3 },
    { podUID: 'forged' },
    { phase: 'DONE', outcome: 'Succeeded' },
    { observedGeneration: 0 },
  ]);
  return { at, do: 'patch', resource: 'ats', name, subresource: 'status', body: { status } };
}
