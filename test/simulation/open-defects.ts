/**
 * Open defects: ways in which today's code is known not to keep a promise. What they explain is counted apart, so
 * that everything else is held strictly. Each goes with the code that mends it, and becomes a planted bug.
 */
import type { Violation } from './history.ts';

export interface OpenDefect {
  readonly name: string;
  readonly promise: string;
  readonly sentence: string;
  /** Whether this is it. */
  readonly explains: (violation: Violation) => boolean;
}

function defect(name: string, promise: string, clue: string, sentence: string): OpenDefect {
  return {
    ...{ name, promise, sentence },
    explains: (violation) => violation.promise === promise && violation.clue === clue,
  };
}

export const openDefects: readonly OpenDefect[] = [
  defect(
    'views differ',
    'R4',
    'views differ',
    'active replicas, of which one has an older view of a Pod, write one status against each other',
  ),
  defect(
    'annotated, not retried',
    'L3',
    'annotated',
    'an annotated ConfigMap whose restart met a 403 is not looked at again',
  ),
  defect(
    'annotations differ',
    'R4',
    'annotations differ',
    'active replicas write the state of an annotated ConfigMap against each other',
  ),
];

/** The defect that explains it; undefined for news. */
export function explanationOf(violation: Violation): OpenDefect | undefined {
  return openDefects.find(({ explains }) => explains(violation));
}
