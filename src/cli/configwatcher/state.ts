/** State: where a ConfigWatcher stands, in one word and one sentence. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { watcherCondition, watcherReason } from '../../api/configwatcher-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import type { Tone } from '../output/style.ts';

export interface State {
  readonly word: string;
  readonly tone: Tone;
  readonly message: string;
}

export function stateOf({ status }: ConfigWatcher): State {
  const conditions = status?.conditions;
  const ready = findCondition(conditions, watcherCondition.ready);
  const stalled = findCondition(conditions, watcherCondition.stalled);
  const progressing = findCondition(conditions, watcherCondition.progressing);
  if ((status?.observedGeneration ?? -1) < 0) {
    return {
      word: 'Unseen',
      tone: 'bad',
      message: 'no operator has seen it: kubectl configwatcher doctor looks for one',
    };
  }
  for (const condition of [
    ready?.status === 'False' ? ready : undefined,
    stalled?.status === 'True' ? stalled : undefined,
  ]) {
    if (condition !== undefined) return { word: condition.reason, tone: 'bad', message: condition.message };
  }
  if (progressing === undefined) return { word: 'Unknown', tone: 'warn', message: '' };
  const { reason: word, message } = progressing;
  if (status?.pending === undefined)
    return { word, tone: word === watcherReason.upToDate ? 'good' : 'warn', message };
  return { word, tone: status.pending.started === undefined ? 'warn' : 'busy', message };
}

/** `ConfigMap web-config (message, title)` */
export function saySource(trigger: {
  readonly kind?: string;
  readonly name?: string;
  readonly changedKeys?: readonly string[];
}): string {
  const { kind = 'a source', name = '', changedKeys = [] } = trigger;
  const keys = changedKeys.length === 0 ? '' : ` (${changedKeys.join(', ')})`;
  return `${kind} ${name}`.trimEnd() + keys;
}

export function sayPods(count: number): string {
  return count === 1 ? '1 Pod' : `${count} Pods`;
}
