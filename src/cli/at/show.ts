/** `kubectl at show NAME`: one At with everything that happened to it, and the end of its output. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { podUidLabel } from '../../at/plan/pod.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { printable } from '../../kubernetes/printable.ts';
import { ApiError } from '../../runtime/client/api-error.ts';
import { type CoreEvent, coreEvents } from '../cluster/resources.ts';
import { formatOf, formats, objectDocument } from '../output/document.ts';
import { type Style, styleOf } from '../output/style.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { isoOf, localTime, sayDate, sayWeekday, sayWhen, type Viewpoint } from '../time/local.ts';
import { dueLines } from './due-lines.ts';
import { outputEnd } from './output-of.ts';
import { type Session, withSession } from './session.ts';
import { dueAt, isDone, sayCommand, sayOutcome, shownInstant, stateOf } from './state.ts';
import { type Moment, timelineOf } from './timeline.ts';

const linesShown = 10;

export const showCommand: Command = {
  name: 'show',
  synopsis: 'NAME',
  summary: 'Show what happened to an At, and the end of its output',
  flags: { ...outputFlag(...formats), ...clusterFlags },
  words: { least: 1, most: 1, completes: 'object' },
  run: (call) => {
    formatOf(call.value('output'));
    return withSession(call, show);
  },
};

async function show(session: Session): Promise<number> {
  const { call } = session;
  const at = await session.get(call.words[0] ?? '');
  const format = formatOf(call.value('output'));
  if (format !== undefined) {
    call.host.output.write(objectDocument(at, ats, format));
    return exitCode.success;
  }
  const { namespace = '', uid = '' } = at.metadata;
  const labelSelector = `${podUidLabel}=${uid}`;
  const own = await readable(session.client.list(pods, { namespace, labelSelector }));
  const uids = [uid, ...own.map(({ metadata }) => metadata.uid ?? '')];
  const events = await Promise.all(uids.map((uid) => eventsOf(session, namespace, uid)));
  const view = session.viewpoint();
  const style = styleOf(call.host.output, call.host.env);
  const moments = timelineOf({ at, pods: own, events: events.flat(), now: view.now });
  for (const line of [...head(at, view, style), '', ...timeline(moments, view, style)]) session.say(line);
  await sayOutput(session, at, own, style);
  return exitCode.success;
}

/** What may not be seen is left out. */
async function readable<T>(list: Promise<{ readonly items: T[] }>): Promise<T[]> {
  try {
    return (await list).items;
  } catch (error) {
    if (error instanceof ApiError && error.code === 403) return [];
    throw error;
  }
}

function eventsOf({ client }: Session, namespace: string, uid: string): Promise<CoreEvent[]> {
  return readable(client.list(coreEvents, { namespace, fieldSelector: `involvedObject.uid=${uid}` }));
}

function head(at: At, view: Viewpoint, style: Style): readonly string[] {
  const { word, tone, message } = stateOf(at, view.now);
  const instant = shownInstant(at);
  const state = isDone(at) ? sayOutcome(at).split(':')[0] : word;
  const when = Number.isNaN(instant) ? '' : `, ${sayWhen(instant, view)}`;
  const { podName, attempts = 0 } = at.status ?? {};
  const due = dueAt(at);
  return [
    `${style.strong(`at/${at.metadata.name}`)}: ${style[tone](state ?? '')}${when}`,
    ...(message === '' || isDone(at) ? [] : [`  ${message.trim()}`]),
    `  command   ${printable(sayCommand(at))}`,
    ...(podName === undefined
      ? []
      : [`  Pod       ${podName}${attempts > 1 ? ` (attempt ${attempts})` : ''}`]),
    ...(Number.isNaN(due)
      ? [`  schedule  ${at.spec.schedule}`]
      : dueLines(due, at.spec.timeZone ?? 'UTC', view)),
  ];
}

/** Under a heading for each day, in this machine's zone. */
function timeline(moments: readonly Moment[], { zone }: Viewpoint, style: Style): readonly string[] {
  let day = '';
  return moments.flatMap(({ time, source, text, tone }) => {
    const local = localTime(time, zone);
    const date = `${sayWeekday(local)} ${sayDate(local)} (${zone})`;
    const heading = date === day ? [] : [style.strong(date)];
    day = date;
    const line = `  ${isoOf(local).slice(11)}  ${source.padEnd(5)}  ${style[tone](printable(text).replaceAll('\n', ' '))}`;
    return [...heading, line];
  });
}

async function sayOutput(session: Session, at: At, own: readonly Pod[], style: Style): Promise<void> {
  const current = own.find(({ metadata }) => metadata.uid === at.status?.podUID);
  if (current === undefined) {
    const isLost = at.status?.podUID !== undefined;
    if (isLost) session.say(`\nThe Pod ${at.status?.podName} is gone, and its output with it.`);
    return;
  }
  const lines = await outputEnd(session, current, linesShown);
  if (lines.length === 0) return;
  session.say(
    `\n${style.strong('Output')} (the last ${lines.length === 1 ? 'line' : `${lines.length} lines`})`,
  );
  for (const line of lines) session.say(`  ${line}`);
}
