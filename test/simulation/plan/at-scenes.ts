/** Scenes with Ats: how one gets into each of the states that few of them come to, or that do not last. */
import {
  absentImage,
  absentProgram,
  absentSource,
  commandCanary,
  createAt,
  invalidImage,
  longJob,
  strangerOf,
  tapeDrive,
} from './draw-ats.ts';
import { byDeveloper, grant } from './draw-authors.ts';
import type { Creation, Deed, FaultPlan } from './plan.ts';
import type { SceneDraw, Scenes, Write } from './scene.ts';

/** So long it takes at least until status says what a Pod waits for, with some time to spare, in ms. */
const slowStart = 12_000;
const createsPods: readonly Write[] = [['POST', '/pods']];

function at(name: string, when: number, due: number, spec: object): Creation {
  return createAt(name, when, { ...longJob(due), ...spec });
}

/** One that falls due at once. */
function now({ name, begin }: SceneDraw, spec: object): Creation {
  return at(name, begin, begin, spec);
}

/** One that does not fall due as long as the run lasts. */
function later({ name, begin }: SceneDraw, spec: object): Deed {
  return at(name, begin, begin + 7_200_000, spec);
}

function edit(name: string, when: number, spec: object): Deed {
  return { at: when, do: 'patch', resource: 'ats', name, body: { spec } };
}

/** Its Pods are refused: by something that lasts, or the next ones only. */
function refused({ random, begin, end }: SceneDraw, code: 403 | 500, message: string): FaultPlan {
  const request = { at: begin - 1, method: 'POST', path: '/pods' };
  return random.chance(0.5)
    ? { ...request, fault: 'refuse', code, message, for: end - begin }
    : { ...request, fault: 'write-meets', skip: 0, times: 8, answer: code };
}

/** A command that ends so at once. */
function ended(draw: SceneDraw, exit: number) {
  return {
    deeds: [now(draw, { command: `job --exit=${exit} ${commandCanary}`, backoffLimit: 0 })],
    from: 5000,
  };
}

export const atScenes: Scenes = {
  // Each stays new for the moment until the operator has seen it.
  'At PENDING New': (draw) => ({
    deeds: [],
    from: 0,
    nudge: (when, index) => at(`${draw.name}-${index}`, when, when + 7_200_000, {}),
  }),
  'At PENDING Suspended': (draw) => ({
    deeds: [now(draw, { suspend: true }), edit(draw.name, draw.end, { suspend: false })],
    from: 500,
  }),
  // By the dry run, or when it is due.
  'At PENDING PodRejected': (draw) => ({
    deeds: [at(draw.name, draw.begin, draw.random.chance(0.5) ? draw.end : draw.begin, {})],
    faults: [refused(draw, 403, 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7')],
    from: 1000,
    writes: createsPods,
  }),
  'At PENDING PodNameConflict': (draw) => {
    const pod = `${draw.name}-pod`;
    return {
      deeds: [
        strangerOf(pod, draw.begin),
        at(draw.name, draw.begin + 1, draw.begin + 1000, {}),
        { at: draw.end, do: 'delete', resource: 'pods', name: pod },
      ],
      ...{ from: 2000, writes: createsPods },
    };
  },
  'At PENDING CreateFailed': (draw) => ({
    deeds: [now(draw, {})],
    faults: [refused(draw, 500, 'Internal error occurred: failed calling webhook: connection refused')],
    ...{ from: 2500, until: 30_000, writes: createsPods },
  }),
  // In the end its author gets the right, or another one asks for something else.
  'At PENDING NotAuthorized': (draw) => ({
    deeds: [
      byDeveloper(now(draw, {})),
      draw.random.chance(0.5)
        ? grant(draw.name, draw.end)
        : edit(draw.name, draw.end, { command: `job ${commandCanary}` }),
    ],
    from: 1000,
  }),
  'At PENDING InvalidCommand': (draw) => ({
    deeds: [
      now(draw, { command: `job 'not closed ${commandCanary}` }),
      edit(draw.name, draw.end, { command: `job ${commandCanary}` }),
    ],
    from: 500,
  }),
  'At RUNNING CommandFailing': (draw) => ({
    deeds: [now(draw, { command: `job --for=1000 --fails=9 ${commandCanary}`, backoffLimit: 6 })],
    from: 4000,
  }),
  // The wait before each attempt from the third on is longer.
  'At RUNNING BetweenAttempts': (draw) => ({
    deeds: [
      now(draw, {
        disruptionPolicy: 'Retry',
        template: { spec: { terminationGracePeriodSeconds: 1 } },
      }),
      ...[3000, 6000, 16_000, 37_000].map(
        (after): Deed => ({
          ...{ at: draw.begin + after, do: 'pod', label: ['app', draw.name], index: 0 },
          what: draw.random.pick(['delete', 'force-delete', 'evict']),
        }),
      ),
    ],
    ...{ from: 8000, writes: createsPods },
  }),
  // As a queue of batch jobs holds Pods back. Beside the operator's own gate that one cannot be taken off alone.
  'At RUNNING SchedulingGated': (draw) => {
    const template = { spec: { schedulingGates: [{ name: 'example.com/queue' }] } };
    const pod = { resource: 'pods', name: `${draw.name}-pod` };
    const ungated: Deed = { at: draw.end, do: 'patch', ...pod, body: { spec: { schedulingGates: null } } };
    return {
      deeds: draw.random.chance(0.5)
        ? [now(draw, { template }), ungated]
        : [
            now(draw, { template, launchGuarantee: 'ExactlyOnce' }),
            edit(draw.name, draw.end, { cancel: true }),
          ],
      from: slowStart,
    };
  },
  'At RUNNING ImagePullBackOff': (draw) => ({
    deeds: [now(draw, { image: absentImage }), edit(draw.name, draw.end, { cancel: true })],
    from: slowStart,
  }),
  // It is given up after thirty seconds.
  'At RUNNING StartError': (draw) => ({
    deeds: [now(draw, { template: absentSource })],
    ...{ from: slowStart, until: 30_000 },
  }),
  'At RUNNING Unschedulable': (draw) => ({
    deeds: [
      now(draw, { template: { spec: { nodeSelector: tapeDrive } } }),
      edit(draw.name, draw.end, { cancel: true }),
    ],
    from: slowStart,
  }),
  // It takes no notice of SIGTERM.
  'At RUNNING Stopping': (draw) => {
    const template = { spec: { terminationGracePeriodSeconds: 60 } };
    return {
      deeds: [now(draw, { template }), edit(draw.name, draw.begin + 5000, { cancel: true })],
      ...{ from: 5500, until: 60_000, writes: [['PATCH', '/pods/']] },
    };
  },
  'At DONE Canceled': (draw) => ({
    deeds: [later(draw, {}), edit(draw.name, draw.begin + 500, { cancel: true })],
    from: 1000,
  }),
  'At DONE Missed': (draw) => ({
    deeds: [at(draw.name, draw.begin, draw.begin - 60_000, { startingDeadlineSeconds: 1 })],
    from: 1000,
  }),
  'At DONE Failed CommandFailed': (draw) => ended(draw, 3),
  // It is tried twice, ten seconds apart.
  'At DONE Failed CannotStart': (draw) => ({
    deeds: [
      now(draw, {
        ...draw.random.pick([
          { command: `${absentProgram} ${commandCanary}` },
          { image: invalidImage, template: { spec: { terminationGracePeriodSeconds: 1 } } },
        ]),
        backoffLimit: 6,
      }),
    ],
    from: 25_000,
  }),
  'At DONE Failed DeadlineExceeded': (draw) => ({
    deeds: [
      now(draw, {
        activeDeadlineSeconds: 1,
        template: { spec: { terminationGracePeriodSeconds: 1 } },
      }),
    ],
    from: 8000,
  }),
  'At DONE Failed PendingTimeout': (draw) => ({
    deeds: [now(draw, { image: absentImage, pendingTimeoutSeconds: 1 })],
    from: 15_000,
  }),
  'At DONE Failed Disrupted': (draw) => ({
    deeds: [
      now(draw, { template: { spec: { terminationGracePeriodSeconds: 1 } } }),
      {
        ...{ at: draw.begin + 3000, do: 'pod', label: ['app', draw.name], index: 0 },
        what: draw.random.pick(['force-delete', 'evict']),
      },
    ],
    from: 10_000,
  }),
  'At DONE Succeeded': (draw) => ended(draw, 0),
};
