/** EventMetrics: what became of the Events that were recorded. */
import { Counter, type Registry } from '@prometheus-io/client';

const results = ['sent', 'failed', 'dropped'] as const;

/**
 * `sent`: the API server has it. `failed`: the API server did not take it. `dropped`: never sent, because
 * the queue was full, its object had too many, or this process may not write.
 */
export type EventResult = (typeof results)[number];

/** Registers `event_recorder_events_total{result}`, all at 0. */
export function eventMetrics(registry: Registry | undefined): (result: EventResult) => void {
  if (registry === undefined) return () => {};
  const counter = new Counter({
    name: 'event_recorder_events_total',
    help: 'Events by what became of them: sent, failed (refused or not reachable), dropped (never sent).',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of results) counter.inc({ result }, 0);
  return (result) => counter.inc({ result });
}
