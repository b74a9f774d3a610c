/** Draws Ats and what people do to them. */
import type { AtSpec } from '../../../src/api/at.generated.ts';
import type { Random } from '../../../src/testing/random.ts';
import { dueTimeOf } from '../schedule.ts';
import type { Feature } from './features.ts';
import type { Deed } from './plan.ts';

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
  };
}

/** No registry has it. */
export const absentImage = 'absent';
/** A label that a node has only when somebody gives it one. */
const tapeDrive = { tape: 'yes' };

/** What the API server accepts and the controller cannot. */
function invalidSpec(random: Random): Spec {
  return random.pick([
    { command: `job 'not closed ${commandCanary}` },
    { template: { spec: { restartPolicy: 'Always' } } },
    { template: { spec: { containers: [{ name: 'Not A Name' }] } } },
  ]);
}

/** How long it runs, how it ends, and how often it fails before. */
function commandOf(random: Random): string {
  const time = random.pick([0, 10, 1000, 20_000, 120_000, 400_000]);
  const [exit, fails] = [random.pick([0, 0, 0, 1, 3]), random.pick([0, 0, 0, 1, 2, 9])];
  return `job --for=${time} --exit=${exit} --fails=${fails} ${commandCanary}`;
}

function templateOf(random: Random): Spec {
  const sidecar = { name: 'helper', image: 'helper', command: ['serve'], restartPolicy: 'Always' };
  return {
    metadata: { labels: { team: 'blue' } },
    spec: {
      terminationGracePeriodSeconds: random.pick([0, 1, 30]),
      ...(random.chance(0.3) && { initContainers: [sidecar] }),
    },
  };
}

function lifeOf(name: string, draw: Draw, crowdTime: number | undefined): Deed[] {
  const { random, features, duration } = draw;
  const object = (spec: Spec) => ({
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name, namespace },
    spec,
  });
  const spec = drawSpec(draw, crowdTime);
  const born = random.chance(0.4) ? 0 : random.integer(duration);
  const deeds: Deed[] = [{ at: born, do: 'create', resource: 'ats', name, object: object(spec) }];
  const due = dueTimeOf(spec as unknown as AtSpec) - startsAt;
  // People come back to an At when it is due: to see it run, or because it does not.
  const isNear = () => due > born && due < duration && random.chance(0.5);
  const later = () =>
    isNear()
      ? Math.max(born + 1, due - 1000 + random.integer(6000))
      : born + random.integer(Math.max(1, duration - born));
  const patch = (at: number, body: object): Deed => ({ at, do: 'patch', resource: 'ats', name, body });
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.4);
  if (chance('at-edit')) {
    for (let edits = 1 + random.integer(3); edits > 0; edits--)
      deeds.push(patch(later(), { spec: editOf(draw) }));
  }
  if (spec.suspend === true || chance('at-suspend')) {
    deeds.push(
      patch(later(), { spec: { suspend: random.chance(0.5) } }),
      patch(later(), { spec: { suspend: false } }),
    );
  }
  if (chance('at-cancel')) deeds.push(patch(later(), { spec: { cancel: true } }));
  if (chance('at-delete') || chance('at-recreate')) {
    const at = later();
    const propagation = random.pick(['Background', 'Background', 'Foreground', 'Orphan'] as const);
    deeds.push({ at, do: 'delete', resource: 'ats', name, propagation });
    if (features.has('at-recreate')) {
      const again = at + random.pick([1, 100, 5000]);
      deeds.push({
        at: again,
        do: 'create',
        resource: 'ats',
        name,
        object: object(drawSpec(draw, crowdTime)),
      });
    }
  }
  if (chance('at-stranger')) deeds.push(strangerOf(`${name}-pod`, random.chance(0.5) ? 0 : later()));
  if (chance('at-forge')) deeds.push(forgeryOf(name, later(), random));
  return deeds;
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

/** Somebody else's Pod under the name that the At needs. */
function strangerOf(name: string, at: number): Deed {
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
