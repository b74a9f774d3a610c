/** Rollout annotation: what a restart by rollout writes into the template of an owner, so that its Pods are replaced. */
import { createHash } from 'node:crypto';

/** An annotation's name has 63 characters at most, 14 of which are taken. */
const maxNameLength = 49;
const keptOfName = 40;

/**
 * The annotation in the Pod template. Its value names the change, so writing it twice is writing it once,
 * and two operators write the same.
 *
 * @param group API group of the watcher.
 */
export function rolloutAnnotation(group: string, watcher: string): string {
  const suffix = createHash('sha256').update(watcher).digest('hex').slice(0, 8);
  const name = watcher.length > maxNameLength ? `${watcher.slice(0, keptOfName)}-${suffix}` : watcher;
  return `${group}/restarted-for.${name}`;
}

/** Whether it is of some watcher of some group. */
export function isRolloutAnnotation(name: string): boolean {
  return name.includes('/restarted-for.');
}
