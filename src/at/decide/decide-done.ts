/**
 * Decide, DONE: the outcome is final. What is left is to delete the At when its time to live is over, and to
 * see to it that nothing runs which the outcome does not speak of.
 */
import { atCondition } from '../../api/at-constants.ts';
import { findCondition, type NewCondition } from '../../kubernetes/conditions.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Observed } from '../facts/observed.ts';
import { isEdited } from '../plan/phase.ts';
import type { Draft } from './decision.ts';
import { effective, withDefaults } from './defaults.ts';
import { letGo } from './exactly-once.ts';
import { editedAfterEnd, stated } from './statement.ts';
import { endSurplusPods } from './surplus-pods.ts';

export function decideDone(o: Observed): Draft {
  const kept = withDefaults(o, o.at.status ?? {}, ['ttlSecondsAfterFinished']);
  const status = stated(o, kept, isEdited(o.at) ? acceptance(o) : []);
  const expiry = expiryOf(o);
  if (expiry !== undefined && o.now >= expiry) {
    // With the At go all its Pods, those that still run, too.
    return expire(o);
  }
  const requeue = expiry === undefined ? {} : { requeueAt: expiry };
  return endSurplusPods(o, o.at.status?.podUID, { actions: [], status, events: [], ...requeue });
}

/** A spec that could not run stays refused, also when it is corrected now. */
function acceptance({ at }: Observed): readonly NewCondition[] {
  const shown = findCondition(at.status?.conditions, atCondition.accepted);
  return shown?.status === 'False' ? [] : editedAfterEnd;
}

/** The later of the end and of the status that showed it, plus the time to live; epoch milliseconds. */
function expiryOf(o: Observed): number | undefined {
  const { at } = o;
  const ttlSecondsAfterFinished = effective(o, 'ttlSecondsAfterFinished');
  // A lax CRD lets in what is no number; such an At is kept.
  if (typeof ttlSecondsAfterFinished !== 'number') {
    return undefined;
  }
  const ended = parseTime(at.status?.completionTime ?? '');
  const shown = findCondition(at.status?.conditions, atCondition.complete)?.lastTransitionTime ?? '';
  // Conditions have whole seconds, the rest of which is dropped.
  const times = [ended, parseTime(shown) + 999].filter((time) => !Number.isNaN(time));
  const expiry = Math.max(...times) + ttlSecondsAfterFinished * 1000;
  return Number.isFinite(expiry) ? expiry : undefined;
}

/** Reads the At afresh first: the cache may not show yet that its TTL was raised. */
function expire(o: Observed): Draft {
  if (!o.live) {
    return { need: 'at' };
  }
  const { namespace = '', name, uid = '', resourceVersion = '' } = o.at.metadata;
  const { actions } = letGo(o);
  return { actions: [...actions, { type: 'DeleteAt', namespace, name, uid, resourceVersion }], events: [] };
}
