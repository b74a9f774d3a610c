/** Authors: which of the users who ask for Ats may not create Pods, where the operator asks for that. */
import type { At } from '../../src/api/at.generated.ts';
import { atAnnotation } from '../../src/api/at-constants.ts';
import type { ChangeEntry } from './entry.ts';

const prefix = 'developer-of-';

/** A user who may create Ats, and Pods only while a RoleBinding of this name is there. */
export function developerOf(at: string): string {
  return `${prefix}${at}`;
}

export class Authors {
  /** Since when a developer may create Pods, by namespace and user. */
  readonly #granted = new Map<string, number>();

  change({ resource, change, object, time }: ChangeEntry): void {
    if (resource !== 'rolebindings') return;
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (change === 'DELETED') this.#granted.delete(key);
    else if (!this.#granted.has(key)) this.#granted.set(key, time);
  }

  /** When the author of the At, as it is recorded, last had no right to create Pods. */
  barredAt({ metadata: { namespace, annotations } }: At, now: number): number {
    const { username = '' }: { username?: string } = JSON.parse(annotations?.[atAnnotation.author] ?? '{}');
    if (!username.startsWith(prefix)) return Number.NEGATIVE_INFINITY;
    return this.#granted.get(`${namespace}/${username}`) ?? now;
  }
}
