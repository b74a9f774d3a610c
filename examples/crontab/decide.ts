/**
 * Decide: which Ats a CronTab is owed by now, and when to look again. Pure: the time comes in, nothing
 * goes out.
 */
import { controllerRef, formatTime, type NewCondition, parseTime, setCondition } from '@atwatch/runtime';
import { Cron } from 'croner';
import type { At } from './at.ts';
import { type CronTab, type CronTabStatus, cronTabs } from './types.generated.ts';

export interface Decision {
  /** To be created, the oldest firing first; those that exist already are as they should be. */
  readonly ats: readonly At[];
  /** To be written after that. */
  readonly status: CronTabStatus;
  /** The next firing, epoch milliseconds. */
  readonly requeueAt?: number;
}

/** Firings that passed while no controller ran are made up for if they are no older than this, ms. */
export const catchUp = 60_000;

/** Longer than {@link catchUp}: by the time an At is gone, no controller creates it again. */
const ttlSecondsAfterFinished = 600;

/** @param now epoch milliseconds. */
export function decide(cronTab: CronTab, now: number): Decision {
  const { spec, status } = cronTab;
  const { cronSpec, replicas = 1 } = spec;
  // Another expression counts from now: its firings of the past were never asked for.
  const known = status?.cronSpec === cronSpec ? parseTime(status.handledUntil) : now;
  const stated = (handledUntil: number, accepted: NewCondition): CronTabStatus => ({
    cronSpec,
    handledUntil: formatTime(handledUntil),
    conditions: setCondition(status?.conditions, accepted, now),
  });
  let cron: Cron;
  try {
    cron = new Cron(cronSpec, { timezone: 'UTC' });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const refused = { type: 'Accepted', status: 'False', reason: 'InvalidCronSpec', message } as const;
    return { ats: [], status: stated(known, refused) };
  }
  const firings: number[] = [];
  let next = cron.nextRun(new Date(Math.max(known, now - catchUp)));
  for (; next !== null && next.getTime() <= now; next = cron.nextRun(next)) firings.push(next.getTime());
  const accepted = { type: 'Accepted', status: 'True', reason: 'ValidCronSpec', message: '' } as const;
  return {
    ats: firings.flatMap((firing) => Array.from({ length: replicas }, (_, i) => atFor(cronTab, firing, i))),
    status: stated(firings.at(-1) ?? known, accepted),
    ...(next !== null && { requeueAt: next.getTime() }),
  };
}

/** Its name says which firing it is for: of two who create it, one is refused. */
function atFor(cronTab: CronTab, firing: number, replica: number): At {
  const { name, namespace = '' } = cronTab.metadata;
  return {
    metadata: {
      namespace,
      name: `${name}-${firing / 1000}-${replica}`,
      labels: { crontab: name },
      ownerReferences: [controllerRef(cronTabs, cronTab)],
    },
    spec: {
      schedule: formatTime(firing),
      template: { spec: { containers: [{ name: 'crontab', image: cronTab.spec.image }] } },
      ttlSecondsAfterFinished,
    },
  };
}
