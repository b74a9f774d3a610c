/** `kubectl configwatcher restart NAME`: lets a change that waits begin at once. */
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import { type Command, clusterFlags } from '../program/command.ts';
import { exitCode, Failure } from '../program/exit.ts';
import { type Session, withSession } from './session.ts';
import { outdated, presentSources } from './sources.ts';
import { sayPods, stateOf } from './state.ts';

export const restartCommand: Command = {
  name: 'restart',
  synopsis: 'NAME',
  summary: 'Let a change that waits begin at once, whatever window, cooldown or debounce say',
  details: ['With nothing to apply no Pod is restarted; kubectl rollout restart does that in any case.'],
  flags: clusterFlags,
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => withSession(call, restart),
};

async function restart(session: Session): Promise<number> {
  const { client, resource, call, clock } = session;
  const watcher = await session.get(call.words[0] ?? '');
  const { name, namespace = '' } = watcher.metadata;
  const { pending, stalePods } = watcher.status ?? {};
  if (watcher.spec.suspend || watcher.spec.dryRun) {
    const field = watcher.spec.suspend ? 'suspend' : 'dryRun';
    throw new Failure(
      `${name} has ${field}: true, which stands above this: kubectl patch configwatcher ${name} --type=merge -p '{"spec":{"${field}":false}}'`,
    );
  }
  if (pending === undefined && outdated(watcher, await presentSources(client, watcher)).length === 0) {
    session.say(
      `Nothing waits for ${name}: ${stateOf(watcher).message || 'its Pods run with the present content'}.`,
    );
    return exitCode.success;
  }
  if (pending?.started !== undefined) {
    session.say(`The restart for ${name} is under way: ${stateOf(watcher).message}.`);
    return exitCode.success;
  }
  const annotations = { [watcherAnnotation.restartNow]: formatMilliTime(clock.now()) };
  await client.patch(resource, { namespace, name }, { type: 'merge', body: { metadata: { annotations } } });
  const which = stalePods === undefined || stalePods === 0 ? 'the Pods' : sayPods(stalePods);
  session.say(
    `The restart of ${which} for ${name} begins now; kubectl configwatcher wait ${name} follows it.`,
  );
  return exitCode.success;
}
