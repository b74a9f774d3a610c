/** `kubectl configwatcher why pod/NAME`: which edit restarted it, and what is still to come. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { selects } from '../../configwatcher/plan/selector.ts';
import { readSpec } from '../../configwatcher/plan/spec.ts';
import { type ConfigMap, pods } from '../../kubernetes/objects.ts';
import { formatTime, parseTime } from '../../kubernetes/time.ts';
import { isNotFound } from '../../runtime/client/api-error.ts';
import { workloads } from '../cluster/resources.ts';
import { dataFormats, documentOf, formatOf } from '../output/document.ts';
import { type Style, styleOf } from '../output/style.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, Failure, UsageError } from '../program/exit.ts';
import { sayWhen, type Viewpoint } from '../time/local.ts';
import { type Session, withSession } from './session.ts';
import { outdated, type PresentSource, presentSources } from './sources.ts';
import { sayPods, saySource, stateOf } from './state.ts';

export const whyCommand: Command = {
  name: 'why',
  synopsis: 'pod/NAME|deploy/NAME|sts/NAME|ds/NAME',
  summary: 'Say which edit restarted it, of which keys, by whom and when, and what is pending',
  examples: ['kubectl configwatcher why deploy/web'],
  flags: { ...outputFlag(...dataFormats), ...clusterFlags },
  words: { least: 1, most: 1, completes: 'workload' },
  run: (call) => {
    formatOf(call.value('output'), dataFormats);
    return withSession(call, why);
  },
};

/** What is asked about. */
interface Subject {
  /** `deploy/web` */
  readonly title: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of a Pod: epoch ms. */
  readonly createdAt: number | undefined;
}

async function why(session: Session): Promise<number> {
  const { client, resource, namespace, call } = session;
  const subject = await readSubject(session, call.words[0] ?? '');
  const { items } = await client.list(resource, { namespace });
  const watchers = items.filter((watcher) => isSelected(watcher, subject));
  const format = formatOf(call.value('output'), dataFormats);
  if (format !== undefined) {
    const told = watchers.map(async (watcher) =>
      reasonsOf(watcher, subject, await presentSources(client, watcher)),
    );
    call.host.output.write(documentOf({ subject: subject.title, watchers: await Promise.all(told) }, format));
    return exitCode.success;
  }
  if (watchers.length === 0) {
    session.say(
      `No ConfigWatcher in ${namespace} selects ${subject.title}: no edit of a ConfigMap restarts it.`,
    );
    return exitCode.success;
  }
  const style = styleOf(call.host.output, call.host.env);
  for (const watcher of watchers) {
    const present = await presentSources(client, watcher);
    for (const line of report(watcher, { subject, present, view: session.viewpoint(), style }))
      session.say(line);
  }
  return exitCode.success;
}

async function readSubject({ client, namespace }: Session, reference: string): Promise<Subject> {
  const [typed = '', name = '', more] = reference.split('/');
  if (name === '' || more !== undefined)
    throw new UsageError(`say pod/NAME or deploy/NAME, not "${reference}"`);
  const kind = typed.toLowerCase();
  const key = { namespace, name };
  try {
    if (['pod', 'pods', 'po'].includes(kind)) {
      const { metadata } = await client.get(pods, key);
      return {
        title: reference,
        labels: metadata.labels ?? {},
        createdAt: parseTime(metadata.creationTimestamp ?? ''),
      };
    }
    const workload = workloads[kind] ?? workloads[kind.replace(/s$/, '')];
    if (workload === undefined) throw new UsageError(`say pod, deploy, sts or ds, not "${typed}"`);
    const { template } = (await client.get(workload, key)).spec;
    return { title: reference, labels: template.metadata?.labels ?? {}, createdAt: undefined };
  } catch (error) {
    if (isNotFound(error)) throw new Failure(`there is no ${typed} "${name}" in the namespace ${namespace}`);
    throw error;
  }
}

function isSelected({ spec }: ConfigWatcher, { labels }: Subject): boolean {
  const read = readSpec(spec);
  return !('invalid' in read) && selects(read.selector, labels);
}

export interface Facts {
  readonly subject: Subject;
  readonly present: readonly PresentSource[];
  readonly view: Viewpoint;
  readonly style: Style;
}

/** The lines about one watcher. */
export function report(watcher: ConfigWatcher, { subject, present, view, style }: Facts): readonly string[] {
  const { word, tone, message } = stateOf(watcher);
  return [
    `${style.strong(`configwatcher/${watcher.metadata.name}`)} selects ${subject.title}: ${style[tone](word)}`,
    ...pendingLines(watcher, present, message),
    ...editLines(present, view),
    ...restartLines(watcher, subject, view),
  ];
}

function pendingLines(
  watcher: ConfigWatcher,
  present: readonly PresentSource[],
  message: string,
): readonly string[] {
  const names = outdated(watcher, present).map(({ source }) => `${source.kind} ${source.name}`);
  const { pending, stalePods = 0 } = watcher.status ?? {};
  if (pending === undefined && names.length === 0)
    return ['  pending    nothing: the Pods run with the present content'];
  if (pending === undefined)
    return [`  pending    the operator has not seen the last edit of ${names.join(', ')} yet`];
  const changed = names.length === 0 ? '' : `, of ${names.join(', ')}`;
  return [`  pending    ${sayPods(stalePods)} with an older content${changed}: ${message}`];
}

/** What the lines say, for a program. Times are RFC 3339, hashes and counts those of the status. */
export function reasonsOf(
  watcher: ConfigWatcher,
  subject: Subject,
  present: readonly PresentSource[],
): object {
  const { word, message } = stateOf(watcher);
  const unseen = watcher.status?.pending === undefined ? outdated(watcher, present) : [];
  return {
    name: watcher.metadata.name,
    state: word,
    ...(message !== '' && { message }),
    stalePods: watcher.status?.stalePods ?? 0,
    ...(watcher.status?.pending !== undefined && { pending: watcher.status.pending }),
    sources: present.map((each) => {
      const { source, object } = each;
      const edit = object && lastEdit(object);
      return {
        ...{ kind: source.kind, name: source.name, exists: object !== undefined },
        isSeen: !unseen.includes(each),
        ...(edit && { lastWritten: { time: formatTime(edit.time), manager: edit.manager } }),
      };
    }),
    restarts: restartsOf(watcher).map((restart) => ({ ...restart, madeIt: isMadeBy(restart, subject) })),
  };
}

/** By whom and when the data of each source was written last, as far as managedFields say it. */
function editLines(present: readonly PresentSource[], view: Viewpoint): readonly string[] {
  return present.map(({ source, object }) => {
    const title = `${source.kind} ${source.name}`;
    if (object === undefined) return `  source     ${title} does not exist`;
    const edit = lastEdit(object);
    if (edit === undefined) return `  source     ${title}, whose last write is not recorded`;
    return `  source     ${title}, last written ${sayWhen(edit.time, view)} with ${edit.manager}`;
  });
}

interface Edit {
  /** Epoch ms. */
  readonly time: number;
  readonly manager: string;
}

export function lastEdit({ metadata }: ConfigMap): Edit | undefined {
  const edits = (metadata.managedFields ?? [])
    .filter(({ fieldsV1 = {} }) => 'f:data' in fieldsV1 || 'f:binaryData' in fieldsV1)
    .map(({ time = '', manager = 'an unnamed client' }) => ({ time: parseTime(time), manager }))
    .filter(({ time }) => !Number.isNaN(time));
  return edits.toSorted((a, b) => b.time - a.time)[0];
}

type Restart = NonNullable<NonNullable<ConfigWatcher['status']>['lastRestart']>;

/** The newest first. */
function restartsOf({ status }: ConfigWatcher): readonly Restart[] {
  const { lastRestart, history = [] } = status ?? {};
  const [latest, ...earlier] = history;
  return lastRestart === undefined ? history : [{ ...latest, ...lastRestart }, ...earlier];
}

/** Of a Pod: whether it was created while that restart went on. */
function isMadeBy({ startTime = '', completionTime = '' }: Restart, { createdAt }: Subject): boolean {
  const from = Math.floor(parseTime(startTime) / 1000) * 1000;
  return createdAt !== undefined && createdAt >= from && createdAt <= parseTime(completionTime);
}

function restartLines(watcher: ConfigWatcher, subject: Subject, view: Viewpoint): readonly string[] {
  const restarts = restartsOf(watcher);
  if (restarts.length === 0) return ['  restarts   none so far'];
  return restarts.map((restart) => {
    const { completionTime = '', trigger, restarted = 0 } = restart;
    const cause = trigger === undefined ? '' : `, because of ${saySource(trigger)}`;
    const own = isMadeBy(restart, subject) ? `; ${subject.title} was made by it` : '';
    return `  restart    ${sayWhen(parseTime(completionTime), view)}: ${sayPods(restarted)}${cause}${own}`;
  });
}
