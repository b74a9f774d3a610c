/** Pod edit: a JSON patch of one Pod, such as the one that takes the finalizer off a Pod whose At is gone. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { findPresence } from '../../runtime/cache/presence.ts';
import { isNotFound } from '../../runtime/client/api-error.ts';
import type { Client, ObjectKey } from '../../runtime/client/client.ts';
import type { JsonPatchOperation } from '../../runtime/client/patch.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { untrackOperations } from '../decide/exactly-once.ts';
import { podUidLabel } from '../plan/pod.ts';
import { isTestFailed } from './create-answer.ts';
import { readTimeoutMs } from './live-read.ts';
import { found, settled } from './settle.ts';

/** Where the Pod has changed since it was seen, the pass ends. */
export function editPod<F>(
  client: Pick<Client, 'patch'>,
  { metadata }: Pod,
  operations: readonly JsonPatchOperation[],
  { facts, signal }: { readonly facts: F; readonly signal: AbortSignal },
): Promise<Answer<F>> {
  const { namespace = '', name } = metadata;
  const edit = client.patch(pods, { namespace, name }, { type: 'json', operations }, { signal });
  return settled(edit, facts, isTestFailed);
}

/**
 * Takes the finalizer off Pods that it holds for an At of this name which is gone: what became of them will not be
 * recorded. A name has one At at a time, so the one that has it, or that none has, shows which are gone.
 *
 * @returns whether a patch met something newer.
 */
export async function letGo(
  client: Client,
  key: ObjectKey,
  orphans: readonly Pod[],
  signal: AbortSignal,
): Promise<boolean> {
  const at = await present(client, key, signal);
  const gone = orphans.filter(({ metadata }) => metadata.labels?.[podUidLabel] !== at?.metadata.uid);
  let isOvertaken = false;
  for (const pod of gone) {
    const answer = await editPod(client, pod, untrackOperations(pod), { facts: undefined, signal });
    if (answer.next === 'end') isOvertaken = true;
  }
  return isOvertaken;
}

/** Undefined as well where the CRD is gone, and all Ats with it: the API server has no words of its own for that. */
async function present(client: Client, key: ObjectKey, signal: AbortSignal): Promise<At | undefined> {
  try {
    return await found(client.get(ats, key, { signal, timeout: readTimeoutMs }));
  } catch (error) {
    if (isNotFound(error) && (await findPresence(client, ats, signal)) === 'absent') return undefined;
    throw error;
  }
}
