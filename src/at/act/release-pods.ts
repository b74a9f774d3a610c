/**
 * Release Pods: releases what an uninstalled operator still holds. Its finalizer keeps Pods whose end is not
 * recorded any more, and its scheduling gate Pods that have never run. It needs no CRD: these two mark the Pods of an
 * At, also one that has lost its label.
 */
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { isConflict, isProvenNotFound } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import { describeError } from '../../runtime/error-chain.ts';
import { untrackOperations } from '../decide/exactly-once.ts';
import { isGated, isTracked } from '../facts/own-pod.ts';
import { isTestFailed } from './create-answer.ts';

export interface ReleasePodsOptions {
  readonly client: Pick<Client, 'list' | 'delete' | 'patch'>;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** Says what would be done, and does nothing. */
  readonly dryRun: boolean;
  /** Takes one line without its end. */
  readonly print: (line: string) => void;
}

/**
 * A gated Pod is deleted: its command has not run, and without the operator it never will. Any other Pod only loses the
 * finalizer, and runs or stays as it is.
 *
 * @returns how many Pods could not be freed.
 * @throws errors of the client where Pods cannot be listed.
 */
export async function releasePods(options: ReleasePodsOptions): Promise<number> {
  const { client, namespaces, dryRun, print } = options;
  const places = namespaces.length === 0 ? [''] : namespaces;
  let [freed, failed] = [0, 0];
  for (const namespace of places) {
    const transform = (pod: Pod) => (isGated(pod) || isTracked(pod) ? pod : undefined);
    const { items } = await client.list(pods, { namespace, transform });
    for (const pod of items) {
      if (await isFreed(pod, options)) freed += 1;
      else failed += 1;
    }
  }
  print(summary(freed, failed, dryRun));
  return failed;
}

/** Frees the Pod, or says why it cannot be. */
async function isFreed(pod: Pod, { client, dryRun, print }: ReleasePodsOptions): Promise<boolean> {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  try {
    if (!dryRun) await free(client, pod);
    print(`${name}: ${dryRun ? 'would be ' : ''}${isGated(pod) ? deletedWords : freedWords}`);
    return true;
  } catch (error) {
    print(`${name}: not freed: ${describeError(error)}`);
    return false;
  }
}

const deletedWords = 'deleted: it was never released to a node, so that its command has not run';
const freedWords = 'freed of the finalizer';

/** The Pod may go, or may be released, between the list and the write: a deletion meets only what was seen. */
async function free(client: ReleasePodsOptions['client'], pod: Pod): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion = '', deletionTimestamp } = pod.metadata;
  const key = { namespace, name };
  if (isGated(pod) && deletionTimestamp === undefined) {
    const isGone = await isNotFoundAfter(client.delete(pods, key, { uid, resourceVersion }));
    if (isGone) return;
  }
  if (isTracked(pod)) {
    await isNotFoundAfter(client.patch(pods, key, { type: 'json', operations: untrackOperations(pod) }));
  }
}

async function isNotFoundAfter(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return false;
  } catch (error) {
    if (isProvenNotFound(error)) return true;
    if (isConflict(error) || isTestFailed(error)) {
      throw new Error('it has changed meanwhile: run the command again', { cause: error });
    }
    throw error;
  }
}

function summary(freed: number, failed: number, dryRun: boolean): string {
  if (freed + failed === 0) return 'no Pod is held';
  const count = `${freed} ${freed === 1 ? 'Pod' : 'Pods'} ${dryRun ? 'would be freed' : 'freed'}`;
  return failed === 0 ? count : `${count}, ${failed} not freed`;
}
