/** `kubectl configwatcher wait NAME`: until the present content of the sources runs everywhere. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { watcherCondition } from '../../api/configwatcher-constants.ts';
import { isConditionTrue } from '../../kubernetes/conditions.ts';
import { statesOf, TimeOver, timeoutOf, within } from '../cluster/follow.ts';
import { type Format, formatOf, formats, objectDocument } from '../output/document.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { type Session, withSession } from './session.ts';
import { outdated, presentSources, unseen } from './sources.ts';
import { sayPods, stateOf } from './state.ts';

export const waitCommand: Command = {
  name: 'wait',
  synopsis: 'NAME [--timeout 10m]',
  summary: 'Wait until Pods with the present content run everywhere, and are available',
  details: [
    'Reads the ConfigMaps, and waits until the ConfigWatcher says that every Pod runs with what they hold now, an edit',
    'of a moment ago included. Of Secrets only what the operator has seen counts, because their hashes have a key.',
    `Ends with ${exitCode.failure} when the restart is stuck or was given up, with ${exitCode.timeout} after --timeout.`,
  ],
  examples: ['kubectl apply -f config.yaml && kubectl configwatcher wait web-config --timeout 10m'],
  flags: {
    timeout: { value: 'SPAN', description: 'how long to wait at most, such as 90s or 10m; default for ever' },
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => {
    const limit = timeoutOf(call);
    const format = formatOf(call.value('output'));
    return withSession(call, (session) => wait(session, limit, format));
  },
};

/**
 * @param limit ms; undefined for ever.
 * @param format in which the ConfigWatcher is printed once its Pods have the content.
 */
async function wait(
  session: Session,
  limit: number | undefined,
  format: Format | undefined,
): Promise<number> {
  const { call, clock } = session;
  const name = call.words[0] ?? '';
  const ended = await within({ clock, signal: call.host.signal, limit }, (signal) =>
    follow(session, name, signal),
  );
  if (ended === exitCode.success && format !== undefined) {
    call.host.output.write(objectDocument(await session.get(name), session.resource, format));
  }
  if (!(ended instanceof TimeOver)) return ended;
  const { word, message } = stateOf(await session.get(name));
  session.remark(
    `${name} is not up to date after ${call.value('timeout')}: ${word}${message && `, ${message}`}.`,
  );
  return exitCode.timeout;
}

async function follow(session: Session, name: string, signal: AbortSignal): Promise<number> {
  const { resource, namespace } = session;
  let told = '';
  for await (const watcher of statesOf(session, resource, { namespace, name }, signal)) {
    const verdict = await judge(session, watcher, signal);
    if (verdict !== undefined) return verdict;
    const { word, message } = stateOf(watcher);
    if (word !== told && watcher.status?.pending !== undefined)
      session.remark(`${name}: ${word}, ${message} ...`);
    told = word;
  }
  session.remark(`${name} was deleted.`);
  return exitCode.failure;
}

/** @returns the exit code, or undefined while it is to be waited for. */
async function judge(
  session: Session,
  watcher: ConfigWatcher,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { name, generation = 0 } = watcher.metadata;
  const { status } = watcher;
  // Until the operator has seen an edit of the spec or of a source, what stands in status is of before.
  if ((status?.observedGeneration ?? -1) < generation) return undefined;
  const present = await presentSources(session.client, watcher);
  signal.throwIfAborted();
  if (unseen(watcher, present).length > 0) return undefined;
  if (isConditionTrue(status?.conditions, watcherCondition.stalled)) {
    const { word, message } = stateOf(watcher);
    session.remark(`${name} is stuck: ${word}, ${message}.`);
    return exitCode.failure;
  }
  if (status?.pending !== undefined || outdated(watcher, present).length > 0) return undefined;
  // With nothing pending these wait for no restart any more.
  if ((status?.stalePods ?? 0) > 0) {
    const { word, message } = stateOf(watcher);
    session.remark(`${name} restarts no further Pod: ${word}, ${message}.`);
    return exitCode.failure;
  }
  session.remark(`${name}: ${sayPods(status?.matchedPods ?? 0)} with the present content.`);
  return exitCode.success;
}
