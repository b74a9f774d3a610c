/**
 * Draws launches whose request is long on its way, of Ats that are given up meanwhile: the Pod that comes into being
 * then is one that nobody waits for any more.
 */
import { commandCanary, type Draw, namespace, startsAt } from './draw-ats.ts';
import type { Deed, FaultPlan } from './plan.ts';

export function drawLateCreates({ random, features, duration }: Draw): {
  readonly deeds: readonly Deed[];
  readonly faults: readonly FaultPlan[];
} {
  const deeds: Deed[] = [];
  const faults: FaultPlan[] = [];
  if (!features.has('late-create') || !features.has('at')) return { deeds, faults };
  const due = 20_000 + random.integer(duration - 50_000);
  const late = random.pick([5000, 10_000, 30_000]);
  const ending = random.pick(['deadline', 'cancel', 'delete'] as const);
  const spec = {
    schedule: new Date(startsAt + due).toISOString(),
    command: `job --for=400000 ${commandCanary}`,
    ...(ending === 'deadline' && { startingDeadlineSeconds: random.pick([1, 3]) }),
    ...(random.chance(0.3) && { launchGuarantee: 'ExactlyOnce' }),
  };
  const object = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name: 'late', namespace },
    spec,
  };
  const at = due + 300 + random.integer(late);
  deeds.push({ at: 1, do: 'create', resource: 'ats', name: 'late', object });
  if (ending === 'cancel')
    deeds.push({ at, do: 'patch', resource: 'ats', name: 'late', body: { spec: { cancel: true } } });
  if (ending === 'delete') deeds.push({ at, do: 'delete', resource: 'ats', name: 'late' });
  faults.push({ at: due - 20, fault: 'send-meets', method: 'POST', path: '/pods', skip: 0, late });
  return { deeds, faults };
}
