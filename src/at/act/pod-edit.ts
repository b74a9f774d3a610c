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
import { isTracked } from '../facts/own-pod.ts';
import { phaseOf } from '../plan/phase.ts';
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

/** What came of Pods from which the finalizer was to come off. */
export interface LetGo {
  /** It is off, or they are gone. */
  readonly released: readonly Pod[];
  /** A patch has met something newer. */
  readonly isOvertaken: boolean;
}

/**
 * Takes the finalizer off Pods that it holds for an At of this name which is gone: what became of them will not be
 * recorded. A name has one At at a time, so the one that has it, or that none has, shows which are gone.
 */
export async function letGo(
  client: Client,
  key: ObjectKey,
  orphans: readonly Pod[],
  signal: AbortSignal,
): Promise<LetGo> {
  if (orphans.length === 0) return { released: [], isOvertaken: false };
  const at = await present(client, key, signal);
  const gone = orphans.filter((pod) => !isLabeledFor(at, pod));
  return releaseAll(gone, (pod) => release(client, pod, signal));
}

/** The same for Pods that the watch shows no more, and for those of an At that is over, too. Each is read first. */
export async function letHiddenGo(
  client: Client,
  key: ObjectKey,
  { hidden, cached }: { readonly hidden: readonly Pod[]; readonly cached: At | undefined },
  signal: AbortSignal,
): Promise<LetGo> {
  const isOfAnother = hidden.some((pod) => !isLabeledFor(cached, pod));
  const at = isOfAnother ? await present(client, key, signal) : cached;
  const over = hidden.filter((pod) => !isLabeledFor(at, pod) || (at !== undefined && phaseOf(at) === 'DONE'));
  return releaseAll(over, async ({ metadata: { namespace = '', name, uid } }) => {
    const pod = await found(client.get(pods, { namespace, name }, { signal, timeout: readTimeoutMs }));
    if (pod?.metadata.uid !== uid || pod === undefined || !isTracked(pod)) return true;
    return release(client, pod, signal);
  });
}

/** Takes the finalizer off. Returns whether the Pod was still the one that was seen. */
async function release(client: Client, pod: Pod, signal: AbortSignal): Promise<boolean> {
  const answer = await editPod(client, pod, untrackOperations(pod), { facts: undefined, signal });
  return answer.next === 'goOn';
}

function isLabeledFor(at: At | undefined, { metadata }: Pod): boolean {
  return at !== undefined && metadata.labels?.[podUidLabel] === at.metadata.uid;
}

async function releaseAll(all: readonly Pod[], one: (pod: Pod) => Promise<boolean>): Promise<LetGo> {
  const released: Pod[] = [];
  for (const pod of all) {
    if (await one(pod)) released.push(pod);
  }
  return { released, isOvertaken: released.length < all.length };
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
