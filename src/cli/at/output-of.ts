/** Output of: what the command of an At has printed. */
import type { At } from '../../api/at.generated.ts';
import { podUidLabel } from '../../at/plan/pod.ts';
import { mainContainerName } from '../../at/plan/run.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { printable } from '../../kubernetes/printable.ts';
import { ApiError } from '../../runtime/client/api-error.ts';
import { lastLines } from '../cluster/pod-logs.ts';
import type { Session } from './session.ts';

/** So many logs are read for a list; older Ats show none. */
const maxLogs = 50;

/** The end of what a Pod's command printed; nothing where there is no log, or no right to read it. */
export async function outputEnd(session: Session, pod: Pod, count: number): Promise<readonly string[]> {
  const { namespace = '', name } = pod.metadata;
  const container = mainContainerName(pod);
  if (container === undefined) return [];
  try {
    const lines = await lastLines(session, { namespace, pod: name, container }, count);
    return lines.map(printable);
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** The last line of each of the newest Ats, by the uid of the At. @param ats the newest last. */
export async function lastOutputs(
  session: Session,
  ats: readonly At[],
  namespace: string,
): Promise<ReadonlyMap<string, string>> {
  const newest = ats.filter(({ status }) => status?.podUID !== undefined).slice(-maxLogs);
  if (newest.length === 0) return new Map();
  const found = await podsOf(session, namespace);
  const outputs = newest.map(async ({ metadata, status }): Promise<[string, string]> => {
    const pod = found.get(status?.podUID ?? '');
    const lines = pod === undefined ? [] : await outputEnd(session, pod, 1);
    return [metadata.uid ?? '', lines.at(-1) ?? ''];
  });
  return new Map(await Promise.all(outputs));
}

/** The Pods of all Ats by their uid; none where there is no right to see them. */
async function podsOf({ client }: Session, namespace: string): Promise<ReadonlyMap<string, Pod>> {
  try {
    const { items } = await client.list(pods, { namespace, labelSelector: podUidLabel });
    return new Map(items.map((pod) => [pod.metadata.uid ?? '', pod]));
  } catch (error) {
    if (error instanceof ApiError) return new Map();
    throw error;
  }
}
