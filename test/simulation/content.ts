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

/** By object, which is never changed, and by the keys that count: it is asked for at every look. */
const known = new WeakMap<KubernetesObject, Map<string, string>>();

/** A text that is the same for two states of a source exactly when what counts of them is the same. */
export function contentOf({ keys }: Pick<SourceRef, 'keys'>, object: KubernetesObject | undefined): string {
  if (object === undefined) return 'absent';
  let texts = known.get(object);
  if (texts === undefined) {
    texts = new Map();
    known.set(object, texts);
  }
  const key = keys.join();
  let text = texts.get(key);
  if (text === undefined) {
    text = textOf(keys, object);
    texts.set(key, text);
  }
  return text;
}

function textOf(keys: readonly string[], object: KubernetesObject): string {
  const { data = {}, binaryData = {} } = object as Held;
  const section = (entries: Readonly<Record<string, string>>) =>
    Object.entries(entries)
      .filter(([key]) => keys.length === 0 || keys.includes(key))
      .sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([section(data), section(binaryData)]);
}
