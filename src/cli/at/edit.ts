/** `cancel`, `suspend`, `resume`, `move`: one field of an At that has not run, and a sentence of what that means. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { isConflict } from '../../runtime/client/api-error.ts';
import { documentOfAll, formatOf, formats } from '../output/document.ts';
import { type Call, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, Failure, UsageError } from '../program/exit.ts';
import { localTime, sayLocal, sayWhen } from '../time/local.ts';
import { readWhen } from '../time/when.ts';
import { whenOf, zoneFlag } from './create.ts';
import { dueLines } from './due-lines.ts';
import { type Session, withSession } from './session.ts';
import { dueAt, isDone, isWaiting, sayOutcome } from './state.ts';

/** How often one edit is tried: while an At starts or ends, its status is written some times in a row. */
const maxRounds = 5;

export const cancelCommand = editCommand({
  name: 'cancel',
  summary: 'End an At for good: before its launch nothing runs, after it the command is stopped',
  act: (session, at) => {
    if (at.spec.cancel) return unchanged(`${at.metadata.name} is canceled already`);
    if (isDone(at)) return unchanged(`there is nothing to cancel: ${overSentence(at)}`);
    return patch(
      session,
      at,
      { cancel: true },
      isWaiting(at) ? `canceled: it was due ${due(session, at)}` : 'is being stopped',
    );
  },
});

export const suspendCommand = editCommand({
  name: 'suspend',
  summary: 'Hold an At back: while it is suspended nothing starts',
  act: (session, at) => {
    assertWaiting(at, 'suspend');
    if (at.spec.suspend) return unchanged(`${at.metadata.name} is suspended already`);
    return patch(
      session,
      at,
      { suspend: true },
      `suspended: it was due ${due(session, at)}; kubectl at resume lets it go on`,
    );
  },
});

export const resumeCommand = editCommand({
  name: 'resume',
  summary: 'Let an At go on; one whose time has passed meanwhile runs at once',
  act: (session, at) => {
    assertWaiting(at, 'resume');
    if (!at.spec.suspend)
      return unchanged(`${at.metadata.name} is not suspended: it is due ${due(session, at)}`);
    return patch(session, at, { suspend: false }, `resumed: ${resumed(session, at)}`);
  },
});

interface Edit {
  readonly name: string;
  readonly summary: string;
  /** @returns the sentence of what happened, without the At's name where it begins with it. */
  act(session: Session, at: At): Promise<string>;
}

function editCommand({ name, summary, act }: Edit): Command {
  return {
    name,
    synopsis: 'NAME...',
    summary,
    flags: { ...outputFlag(...formats), ...clusterFlags },
    words: { least: 1, most: 100, completes: 'object' },
    run: (call) => {
      const format = formatOf(call.value('output'));
      return withSession(call, async (session) => {
        for (const word of call.words) {
          const sentence = await changed(session, word, act);
          if (format === undefined) session.say(`${sentence}.`);
        }
        return printed(session, call.words);
      });
    },
  };
}

/** Reads the At and acts on it; again, a few times, when another client, such as the operator, wrote it in between. */
async function changed<T>(
  session: Session,
  name: string,
  act: (session: Session, at: At) => Promise<T>,
): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await act(session, await session.get(name));
    } catch (error) {
      if (!isConflict(error) || round >= maxRounds) throw error;
    }
  }
}

/** For a program: the objects as they are now. */
async function printed({ call, get }: Session, names: readonly string[]): Promise<number> {
  const format = formatOf(call.value('output'));
  if (format !== undefined) {
    const objects = await Promise.all(names.map(get));
    call.host.output.write(documentOfAll(objects, ats, format));
  }
  return exitCode.success;
}

async function unchanged(sentence: string): Promise<string> {
  return sentence;
}

/**
 * Only if nothing has changed since the At was read: what is said of it would not be true any more.
 * @throws {ApiError} 409 Conflict for an At that has changed.
 */
async function patch({ client }: Session, at: At, spec: object, outcome: string): Promise<string> {
  const { namespace = '', name, resourceVersion } = at.metadata;
  await client.patch(
    ats,
    { namespace, name },
    { type: 'merge', body: { metadata: { resourceVersion }, spec } },
  );
  return `at/${name} ${outcome}`;
}

function due(session: Session, at: At): string {
  return sayWhen(dueAt(at), session.viewpoint());
}

function overSentence(at: At): string {
  return `${at.metadata.name} is over, ${sayOutcome(at)}`;
}

/** @throws {Failure} for one that runs or has run. */
function assertWaiting(at: At, verb: string): void {
  const { name } = at.metadata;
  if (at.spec.cancel && !isDone(at)) throw new Failure(`${name} is canceled, so there is nothing to ${verb}`);
  if (isWaiting(at)) return;
  if (!isDone(at))
    throw new Failure(`it is too late to ${verb} ${name}: it runs; kubectl at cancel stops it`);
  throw new Failure(`it is too late to ${verb} ${name}: ${overSentence(at)}; kubectl at rerun runs it again`);
}

function resumed(session: Session, at: At): string {
  const { now } = session.viewpoint();
  const late = now - dueAt(at);
  const limit = at.spec.startingDeadlineSeconds;
  if (!(late >= 0)) return `it is due ${due(session, at)}`;
  if (limit !== undefined && late > limit * 1000)
    return `it was due ${due(session, at)}, longer ago than it may start late, so it counts as missed`;
  return `it was due ${due(session, at)} and runs now`;
}

export const moveCommand: Command = {
  name: 'move',
  synopsis: 'NAME WHEN [--tz ZONE]',
  summary: 'Set another time for an At that has not run',
  examples: ['kubectl at move migrate tomorrow 9:00', 'kubectl at move migrate now'],
  flags: { ...zoneFlag, ...outputFlag(...formats), ...clusterFlags },
  words: { least: 2, most: 16, completes: 'object' },
  run: (call) => {
    const [name = '', ...words] = call.words;
    const text = words.join(' ');
    formatOf(call.value('output'));
    const zone = checkedZone(call, text);
    return withSession(call, (session) =>
      changed(session, name, (_, at) => {
        assertWaiting(at, 'move');
        return move(session, at, text, zone ?? at.spec.timeZone ?? call.host.zone);
      }),
    );
  },
};

/** @returns the zone that was asked for. @throws {UsageError} for a time that is not understood. */
export function checkedZone(call: Call, text: string): string | undefined {
  const zone = call.value('tz');
  const when = readWhen(text, { now: call.host.clock.now(), zone: zone ?? call.host.zone });
  if (!when.ok) throw new UsageError(when.message);
  return zone;
}

async function move(session: Session, at: At, text: string, zone: string): Promise<number> {
  const { schedule, timeZone, instant, note } = whenOf(session, text, zone);
  const view = session.viewpoint();
  const before = dueAt(at);
  const from = Number.isNaN(before) ? at.spec.schedule : sayLocal(localTime(before, zone));
  const held = at.spec.suspend ? ' once it is resumed' : '';
  const outcome = `moved: it runs ${instant <= view.now ? 'now' : sayWhen(instant, view)}${held} (before: ${from})`;
  const sentence = await patch(session, at, { schedule, timeZone: timeZone ?? null }, outcome);
  if (session.call.value('output') === undefined) {
    for (const line of [`${sentence}.`, ...dueLines(instant, zone, view)]) session.say(line);
  }
  if (note !== undefined) session.remark(`Note: ${note}.`);
  return printed(session, [at.metadata.name]);
}
