/**
 * Window: a time in which restarts may start. It opens by a cron schedule and stays open for a while.
 */
import type { Cron } from 'croner';
import type { ConfigWatcherSpecWindow } from '../../api/configwatcher.generated.ts';
import { timeZoneNamed } from '../../api/zone.ts';
import { parseDuration } from '../../kubernetes/duration.ts';
import { lastInstant, nextInstant, parseCron } from './cron.ts';

export interface Window {
  readonly schedule: Cron;
  /** Milliseconds. */
  readonly duration: number;
}

/** @returns what is wrong with it, as the rest of a sentence, when it is none. */
export function readWindow({
  schedule,
  duration,
  timeZone = 'UTC',
}: ConfigWatcherSpecWindow): Window | string {
  const span = parseDuration(duration);
  const isZone = timeZoneNamed(timeZone) !== undefined;
  const cron = parseCron(schedule, isZone ? timeZone : 'UTC');
  if (!cron) return 'schedule has a range that ends before it begins, or a value that does not exist';
  if (nextInstant(cron, 0) === undefined) return 'schedule never comes: no month it names has such a day';
  if (!span) return 'duration must be longer than zero';
  if (!isZone) return 'timeZone is not a known time zone, such as Europe/Berlin';
  return { schedule: cron, duration: span };
}

/**
 * When a restart may start: undefined for now, otherwise the next opening (epoch ms). Without any window it is always
 * now. A schedule that {@link readWindow} accepts opens again and again.
 */
export function nextOpening(windows: readonly Window[], now: number): number | undefined {
  if (windows.length === 0) return undefined;
  const isOpen = ({ schedule, duration }: Window) => {
    const opened = lastInstant(schedule, now);
    return opened !== undefined && now < opened + duration;
  };
  if (windows.some(isOpen)) return undefined;
  return Math.min(...windows.flatMap(({ schedule }) => nextInstant(schedule, now) ?? []));
}
