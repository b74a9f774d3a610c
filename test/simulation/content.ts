/** Content: what of a ConfigMap or Secret counts, by a reading that shares nothing with the operator's own. */
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';

export interface SourceRef {
  readonly kind: string;
  readonly name: string;
  /** Empty: all. */
  readonly keys: readonly string[];
  readonly optional: boolean;
}

interface Held extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** A text that is the same for two states of a source exactly when what counts of them is the same. */
export function contentOf({ keys }: Pick<SourceRef, 'keys'>, object: KubernetesObject | undefined): string {
  if (object === undefined) return 'absent';
  const { data = {}, binaryData = {} } = object as Held;
  const section = (entries: Readonly<Record<string, string>>) =>
    Object.entries(entries)
      .filter(([key]) => keys.length === 0 || keys.includes(key))
      .sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([section(data), section(binaryData)]);
}
