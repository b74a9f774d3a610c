/**
 * Draws launches of which the operator does not hear: the request is long on its way, and the At is given up
 * meanwhile; or the Pod is made, its creator dies, and the caches of the others do not show it.
 */
import { createAt, type Draw, longJob } from './draw-ats.ts';
import type { Trouble } from './draw-faults.ts';
import type { Deed, FaultPlan } from './plan.ts';

interface LateCreatesDraw extends Draw {
  readonly replicas: number;
  readonly servers: number;
}

export function drawLateCreates(draw: LateCreatesDraw): Trouble {
  const { random, features, duration } = draw;
  if (!features.has('late-create') || !features.has('at')) return { deeds: [], faults: [] };
  const due = 20_000 + random.integer(duration - 60_000);
  const late = random.pick([5000, 10_000, 30_000]);
  const request = { method: 'POST', path: '/pods', skip: 0 };
  const onItsWay: FaultPlan = { at: due - 20, fault: 'send-meets', ...request, late };
  const variants = [missed, canceled, deleted, replaced, overlooked, overlooked];
  const { spec, deeds, faults } = random.pick(variants)({ ...draw, due, late, onItsWay });
  const guarantee = random.chance(0.3) && { launchGuarantee: 'ExactlyOnce' };
  return {
    deeds: [createAt(name, 1, { ...longJob(due), ...guarantee, ...spec }), ...deeds],
    faults,
  };
}

const name = 'late';

interface LateDraw extends LateCreatesDraw {
  /** Ms since the start. */
  readonly due: number;
  /** Ms that the request is on its way. */
  readonly late: number;
  /** The fault that makes it so. */
  readonly onItsWay: FaultPlan;
}

interface Meanwhile {
  readonly spec: object;
  readonly deeds: readonly Deed[];
  readonly faults: readonly FaultPlan[];
}

/** Its deadline is over. */
function missed({ random, onItsWay }: LateDraw): Meanwhile {
  return { spec: { startingDeadlineSeconds: random.pick([1, 3]) }, deeds: [], faults: [onItsWay] };
}

function canceled({ random, due, late, onItsWay }: LateDraw): Meanwhile {
  const at = due + 300 + random.integer(late);
  const body = { spec: { cancel: true } };
  return { spec: {}, deeds: [{ at, do: 'patch', resource: 'ats', name, body }], faults: [onItsWay] };
}

function deleted({ random, due, late, onItsWay }: LateDraw): Meanwhile {
  const at = due + 300 + random.integer(late);
  return { spec: {}, deeds: [{ at, do: 'delete', resource: 'ats', name }], faults: [onItsWay] };
}

/**
 * The Pod of the second try is recorded and cannot be released. While no replica runs it is taken away by force, and
 * the late one gets its name.
 */
function replaced({ random, replicas, due, late, onItsWay }: LateDraw): Meanwhile {
  const at = due + 5500 + random.integer(1500);
  const toPod = (after: number, what: 'strip-finalizers' | 'force-delete'): Deed => {
    return { at: at + after, do: 'pod', label: ['app', name], index: 0, what };
  };
  const down = Math.max(1000, late - 5000);
  const refusal = { method: 'PATCH', path: '/pods/', code: 503, message: 'overloaded' } as const;
  const kills = Array.from({ length: replicas }, (_, replica): FaultPlan => {
    return { at, fault: 'kill', replica, for: down };
  });
  return {
    spec: { launchGuarantee: 'ExactlyOnce' },
    deeds: [toPod(500, 'force-delete'), toPod(501, 'strip-finalizers')],
    faults: [onItsWay, { at: due - 20, fault: 'refuse', ...refusal, for: 8000 }, ...kills],
  };
}

/**
 * The Pod is made, and its creator dies before it writes that down. Nothing that happened since shows in the caches of
 * the replica that takes over, and the deadline is over.
 */
function overlooked({ random, replicas, servers, due }: LateDraw): Meanwhile {
  const post = { method: 'POST', path: '/pods', skip: 0, when: 'after-commit' } as const;
  const kills = Array.from({ length: replicas }, (_, replica): FaultPlan => {
    return { at: due - 20, fault: 'kill-at-write', replica, ...post, for: 30_000 };
  });
  const freezes = Array.from({ length: servers }, (_, server): FaultPlan => {
    return { at: due - 20, fault: 'stale-cache', server, for: 20_000 + random.integer(20_000) };
  });
  return {
    spec: { startingDeadlineSeconds: random.pick([1, 1, 1, 3]) },
    deeds: [],
    faults: [...kills, ...freezes],
  };
}
