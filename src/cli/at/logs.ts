/** `kubectl at logs NAME`: the output of the command, from its start, over restarts and attempts. */
import type { At } from '../../api/at.generated.ts';
import { atPhase, atPodName } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { phaseOf } from '../../at/plan/phase.ts';
import { mainContainerName } from '../../at/plan/run.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { isNotFound, TransportError } from '../../runtime/client/api-error.ts';
import { sleep } from '../../runtime/clock.ts';
import { firstState } from '../cluster/follow.ts';
import { type LogLine, logLines } from '../cluster/pod-logs.ts';
import { type Call, type Command, clusterFlags } from '../program/command.ts';
import { exitCode, Failure, UsageError } from '../program/exit.ts';
import { sayWhen } from '../time/local.ts';
import { type Session, withSession } from './session.ts';
import { dueAt, isDone, isWaiting, sayOutcome, stateOf } from './state.ts';

export const logsCommand: Command = {
  name: 'logs',
  synopsis: '[-f] NAME',
  summary: 'Print the output of the command',
  details: [
    'Prints the log of the last attempt, from its first line. While the Pod is being started, logs waits for that.',
    'With -f it also waits for the time at which the command is due.',
  ],
  flags: {
    follow: { short: 'f', description: 'wait for the start, and go on until the At is done' },
    tail: { value: 'N', description: 'only the last N lines' },
    attempt: { value: 'N', description: 'of this attempt, where a Pod was lost and another one made' },
    ...clusterFlags,
  },
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => {
    const numbers = { tail: numberOf(call, 'tail'), attempt: numberOf(call, 'attempt') };
    return withSession(call, (session) => logs(session, numbers));
  },
};

function numberOf(call: Call, flag: string): number | undefined {
  const value = call.value(flag);
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value)) throw new UsageError(`--${flag} is a number, not "${value}"`);
  return Number(value);
}

interface Numbers {
  readonly tail: number | undefined;
  readonly attempt: number | undefined;
}

async function logs(session: Session, { tail, attempt }: Numbers): Promise<number> {
  const { call, namespace } = session;
  const name = call.words[0] ?? '';
  const follow = call.isSet('follow');
  const at = await session.get(name);
  if (attempt !== undefined) {
    await copy(session, atPodName(name, attempt), { follow: false, tail });
    return exitCode.success;
  }
  if (isWaiting(at) && !follow) {
    throw new Failure(`${name} has not run: it is due ${whenDue(session, at)}; logs -f waits for it`);
  }
  if (isWaiting(at)) session.remark(`${name} is due ${whenDue(session, at)} ...`);
  const started = await untilLaunched(session, { namespace, name });
  if (started.status?.podName === undefined)
    throw new Failure(`${name} has never run: ${sayOutcome(started)}`);
  await followPods(session, started, { follow, tail });
  return exitCode.success;
}

function whenDue(session: Session, at: At): string {
  const view = session.viewpoint();
  const { word } = stateOf(at, view.now);
  return `${sayWhen(dueAt(at), view)}${word === 'Waiting' ? '' : ` (${word})`}`;
}

/** Between two streams of one container, ms. */
const pause = 500;

type Key = { readonly namespace: string; readonly name: string };

async function untilLaunched(session: Session, key: Key): Promise<At> {
  const { signal } = session.call.host;
  const found = (at: At) => (isWaiting(at) ? undefined : at);
  const at = await firstState(session, ats, key, { signal, found });
  if (at === undefined) throw new Failure(`${key.name} was deleted before it ran`);
  return at;
}

interface CopyOptions {
  readonly follow: boolean;
  readonly tail: number | undefined;
}

/** One Pod after the other, as long as the At makes any. */
async function followPods(session: Session, first: At, { follow, tail }: CopyOptions): Promise<void> {
  const { namespace = '', name } = first.metadata;
  const { signal } = session.call.host;
  let at: At | undefined = first;
  for (let lines = tail; at !== undefined; lines = undefined) {
    const podName: string = at.status?.podName ?? '';
    await copy(session, podName, { follow, tail: lines });
    if (!follow) return;
    // The log ends before the At knows it.
    const next = (state: At) =>
      isDone(state) || (phaseOf(state) === atPhase.running && state.status?.podName !== podName)
        ? state
        : undefined;
    at = await firstState(session, ats, { namespace, name }, { signal, found: next });
    if (at === undefined || at.status?.podName === podName) return;
    session.remark(
      `The Pod ${podName} was lost; attempt ${at.status?.attempts} runs in ${at.status?.podName}.`,
    );
  }
}

/** The output of a Pod's command; with `follow` over restarts until the Pod has ended. */
async function copy(session: Session, podName: string, { follow, tail }: CopyOptions): Promise<void> {
  const { call, clock } = session;
  const started = await untilStarted(session, podName);
  let last = await copyRun(session, started, { follow, tail, after: undefined });
  if (!follow) return;
  let runs = restartsOf(started);
  for (;;) {
    const pod = await nextRun(session, podName, runs);
    if (pod === undefined) return;
    const isOver = hasEnded(pod);
    runs = restartsOf(pod);
    // A stream that was cut goes on after the last line that has come.
    last = (await copyRun(session, pod, { follow: !isOver, tail: undefined, after: last?.time })) ?? last;
    if (isOver) return;
    await sleep(clock, pause, call.host.signal);
  }
}

interface RunOptions extends CopyOptions {
  readonly after: string | undefined;
}

/** The output of one run of the container. Returns the last line. */
async function copyRun(session: Session, pod: Pod, options: RunOptions): Promise<LogLine | undefined> {
  const { host } = session.call;
  const { follow, after, tail } = options;
  const { namespace = '', name } = pod.metadata;
  const source = { namespace, pod: name, container: mainContainerName(pod) ?? '' };
  let last: LogLine | undefined;
  try {
    for await (const line of logLines(session, { ...source, follow, after, tailLines: tail }, host.signal)) {
      host.output.write(line.text);
      last = line;
    }
  } catch (error) {
    host.signal.throwIfAborted();
    if (!follow || !(error instanceof TransportError)) throw error;
  }
  return last;
}

/** The Pod once its command has begun. @throws {Failure} when it is gone. */
async function untilStarted(session: Session, name: string): Promise<Pod> {
  const { namespace, call } = session;
  let told = '';
  const found = (pod: Pod) => {
    const { state, restartCount = 0 } = mainStatus(pod) ?? {};
    if (state?.running ?? state?.terminated ?? (restartCount > 0 || hasEnded(pod))) return pod;
    const reason = state?.waiting?.reason ?? '';
    if (reason !== told && reason !== 'ContainerCreating' && reason !== 'PodInitializing') {
      session.remark(`The Pod ${name} waits: ${reason} ...`);
      told = reason;
    }
    return undefined;
  };
  try {
    const pod = await firstState(session, pods, { namespace, name }, { signal: call.host.signal, found });
    if (pod !== undefined) return pod;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  throw new Failure(`the Pod ${name} is gone, and its output with it`);
}

/**
 * The Pod once its command runs, has run again since, or has ended for good; undefined when it is gone.
 *
 * @param restarts that have been seen. A run may be too short to be seen while it lasts.
 */
async function nextRun(session: Session, name: string, restarts: number): Promise<Pod | undefined> {
  const { namespace, call } = session;
  const found = (pod: Pod) =>
    hasEnded(pod) || mainStatus(pod)?.state?.running !== undefined || restartsOf(pod) > restarts
      ? pod
      : undefined;
  try {
    return await firstState(session, pods, { namespace, name }, { signal: call.host.signal, found });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function mainStatus(pod: Pod) {
  const name = mainContainerName(pod);
  return pod.status?.containerStatuses?.find((container) => container.name === name);
}

function restartsOf(pod: Pod): number {
  return mainStatus(pod)?.restartCount ?? 0;
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}
