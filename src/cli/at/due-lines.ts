/** Due lines: when an At runs, in the zone that it was asked in, in this machine's and in UTC. */
import { spellingOf } from '../../api/zone.ts';
import { localTime, sayLocal, sayOffset, type Viewpoint } from '../time/local.ts';

/** @param zone in which the time was asked for. */
export function dueLines(instant: number, zone: string, { zone: own }: Viewpoint): readonly string[] {
  const zones = new Map<string, string>();
  for (const name of [zone, own, 'UTC']) {
    const spelling = spellingOf(name) ?? name;
    if (!zones.has(spelling))
      zones.set(spelling, spelling === spellingOf(own) ? `${spelling} (here)` : spelling);
  }
  const width = Math.max(...Array.from(zones.values(), (label) => label.length));
  return Array.from(zones, ([name, label]) => {
    return `  ${label.padEnd(width)}   ${sayLocal(localTime(instant, name))} ${sayOffset(instant, name)}`;
  });
}
