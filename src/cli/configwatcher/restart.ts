/** `kubectl configwatcher restart NAME`: lets a change that waits begin at once. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import { formatMilliTime, parseTime } from '../../kubernetes/time.ts';
import { statesOf, TimeOver, within } from '../cluster/follow.ts';
import { formatOf, formats, objectDocument } from '../output/document.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, Failure } from '../program/exit.ts';
import { type Session, withSession } from './session.ts';
import { outdated, presentSources } from './sources.ts';
import { sayPods, stateOf } from './state.ts';

/** An operator sees an edit within this, ms. */
const noticeLimit = 10_000;

export const restartCommand: Command = {
  name: 'restart',
  synopsis: 'NAME',
  summary: 'Apply a change that waits for a window, the cooldown or the debounce, at once',
  details: ['With nothing to apply no Pod is restarted; kubectl rollout restart does that in any case.'],
  flags: { ...outputFlag(...formats), ...clusterFlags },
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => {
    const format = formatOf(call.value('output'));
    return withSession(call, async (session) => {
      const sentence = await restart(session);
      if (format === undefined) session.say(`${sentence}.`);
      else {
        const watcher = await session.get(call.words[0] ?? '');
        call.host.output.write(objectDocument(watcher, session.resource, format));
      }
      return exitCode.success;
    });
  },
};

/** @returns what happened. */
async function restart(session: Session): Promise<string> {
  const { client, resource, call, clock } = session;
  const watcher = await withSeenEdit(session, await session.get(call.words[0] ?? ''));
  const { name, namespace = '' } = watcher.metadata;
  const { pending, stalePods } = watcher.status ?? {};
  if (watcher.spec.suspend || watcher.spec.dryRun) {
    const field = watcher.spec.suspend ? 'suspend' : 'dryRun';
    throw new Failure(
      `${name} has ${field}: true, which stands above this: kubectl patch configwatcher ${name} --type=merge -p '{"spec":{"${field}":false}}'`,
    );
  }
  if (pending === undefined) {
    return `Nothing waits for ${name}: ${stateOf(watcher).message || 'its Pods run with the present content'}`;
  }
  // One that has begun for an earlier content leaves the present one to wait.
  if (parseTime(pending.started ?? '') >= parseTime(pending.since)) {
    return `The restart for ${name} is under way: ${stateOf(watcher).message}`;
  }
  const annotations = { [watcherAnnotation.restartNow]: formatMilliTime(clock.now()) };
  await client.patch(resource, { namespace, name }, { type: 'merge', body: { metadata: { annotations } } });
  const which = stalePods === undefined || stalePods === 0 ? 'the Pods' : sayPods(stalePods);
  return `The restart of ${which} for ${name} begins now; kubectl configwatcher wait ${name} follows it`;
}

/** The watcher once the operator has seen the last edit: the annotation is without effect before that. */
async function withSeenEdit(session: Session, watcher: ConfigWatcher): Promise<ConfigWatcher> {
  const { clock, call, resource } = session;
  const { name, namespace = '' } = watcher.metadata;
  const isSeen = async (state: ConfigWatcher) =>
    state.status?.pending !== undefined ||
    outdated(state, await presentSources(session.client, state)).length === 0;
  if (await isSeen(watcher)) return watcher;
  const seen = await within({ clock, signal: call.host.signal, limit: noticeLimit }, async (signal) => {
    for await (const state of statesOf(session, resource, { namespace, name }, signal)) {
      if (await isSeen(state)) return state;
    }
    throw new Failure(`${name} was deleted`);
  });
  if (!(seen instanceof TimeOver)) return seen;
  throw new Failure(
    `no operator has seen the last edit of the sources of ${name}: kubectl configwatcher doctor looks for one`,
  );
}
