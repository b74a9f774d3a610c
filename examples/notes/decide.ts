/** Decide: what a Note asks for. Pure: the time comes in, nothing goes out. */
import { type Condition, controllerRef, isControlledBy, setCondition } from '@atwatch/runtime';
import type { ConfigMap } from '@atwatch/runtime/types/core';
import { type Note, notes } from './types.generated.ts';

/** What is to be written, in this order. */
export interface Decision {
  readonly create?: ConfigMap;
  /** Has the version that was found: when another client has written since, it is refused. */
  readonly update?: ConfigMap;
  readonly conditions: readonly Condition[];
}

/** @param now epoch milliseconds. */
export function decide(note: Note, found: ConfigMap | undefined, now: number): Decision {
  const { name, namespace = '', uid = '' } = note.metadata;
  const ready = (status: 'True' | 'False', reason: string, message: string) =>
    setCondition(note.status?.conditions, { type: 'Ready', status, reason, message }, now);
  if (found !== undefined && !isControlledBy(found, uid)) {
    return { conditions: ready('False', 'NameTaken', `ConfigMap ${name} is not of this object`) };
  }
  const conditions = ready('True', 'Written', `ConfigMap ${name} has the text`);
  const data = { text: note.spec.text };
  if (found?.data?.text === data.text) return { conditions };
  if (found !== undefined) return { update: { ...found, data }, conditions };
  const metadata = { name, namespace, ownerReferences: [controllerRef(notes, note)] };
  return { create: { metadata, data }, conditions };
}
