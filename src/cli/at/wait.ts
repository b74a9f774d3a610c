/** `kubectl at wait NAME`: waits for the end, and ends as the command did. */
import type { At } from '../../api/at.generated.ts';
import { atOutcome } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { firstState, TimeOver, timeoutOf, within } from '../cluster/follow.ts';
import { formatOf, formats, objectDocument } from '../output/document.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { sayWhen } from '../time/local.ts';
import { type Session, withSession } from './session.ts';
import { dueAt, isDone, sayOutcome, stateOf } from './state.ts';

export const waitCommand: Command = {
  name: 'wait',
  synopsis: 'NAME [--timeout 30m]',
  summary: "Wait for the end of an At, and exit with the command's exit code",
  details: [
    `The exit code is that of the command. ${exitCode.timeout}: it was not done within --timeout. ${exitCode.missed}: it never ran to`,
    `an end, because it was missed, canceled or deleted. ${exitCode.failure}: it failed without an exit code (its Pod could not`,
    'start, or was lost), or kubectl at did.',
  ],
  examples: ['kubectl at wait migrate --timeout 30m || kubectl at logs migrate'],
  flags: {
    timeout: { value: 'SPAN', description: 'how long to wait at most, such as 90s or 2h; default for ever' },
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => {
    const limit = timeoutOf(call);
    formatOf(call.value('output'));
    return withSession(call, (session) => wait(session, limit));
  },
};

/** @param limit ms; undefined for ever. */
async function wait(session: Session, limit: number | undefined): Promise<number> {
  const { call, clock, namespace } = session;
  const name = call.words[0] ?? '';
  let latest: At | undefined;
  const found = (at: At) => {
    latest = at;
    return isDone(at) ? at : undefined;
  };
  const { signal } = call.host;
  const done = await within({ clock, signal, limit }, (signal) =>
    firstState(session, ats, { namespace, name }, { signal, found }),
  );
  if (done === undefined) {
    session.remark(`${name} was deleted before it was done.`);
    return exitCode.missed;
  }
  if (done instanceof TimeOver) {
    session.remark(
      `${name} is not done after ${call.value('timeout')}: ${latest === undefined ? 'no answer' : sayStanding(session, latest)}.`,
    );
    return exitCode.timeout;
  }
  session.remark(`${name}: ${sayOutcome(done)}`);
  const format = formatOf(call.value('output'));
  if (format !== undefined) call.host.output.write(objectDocument(done, ats, format));
  return codeOf(done);
}

function sayStanding(session: Session, at: At): string {
  const view = session.viewpoint();
  const { word, message } = stateOf(at, view.now);
  if (word === 'Waiting') return `it is due ${sayWhen(dueAt(at), view)}`;
  return `${word}${message === '' ? '' : `, ${message.trim().split('\n').at(-1)}`}`;
}

export function codeOf({ status }: At): number {
  switch (status?.outcome) {
    case atOutcome.succeeded:
      return exitCode.success;
    case atOutcome.missed:
    case atOutcome.canceled:
      return exitCode.missed;
    default:
      // A command that was stopped may have ended well all the same; its At has not.
      return status?.exitCode || exitCode.failure;
  }
}
