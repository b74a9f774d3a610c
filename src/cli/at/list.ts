/** `kubectl at list`: what waits, runs and has run, the newest last. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { formatOf, formats, listDocument } from '../output/document.ts';
import { styleOf } from '../output/style.ts';
import { type Cell, table } from '../output/table.ts';
import { allNamespacesFlag, type Call, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, UsageError } from '../program/exit.ts';
import { sayWhen } from '../time/local.ts';
import { saySpan } from '../time/span.ts';
import { lastOutputs } from './output-of.ts';
import { type Session, withSession } from './session.ts';
import { endedAt, isDone, isWaiting, sayOutcome, shownInstant, startedAt, stateOf } from './state.ts';

export const listCommand: Command = {
  name: 'list',
  synopsis: '[-A] [--last N] [--failed]',
  summary: 'List the Ats that wait, run and have run, the newest last',
  details: [
    'WHEN is when it runs or has run, TOOK how long, OUTPUT the last line that the command printed, or why there is none.',
  ],
  flags: {
    last: { value: 'N', description: 'only the last N that have run or are over' },
    failed: { description: 'only those that failed, were missed, or cannot be run' },
    ...allNamespacesFlag,
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 0, most: 0 },
  run: (call) => {
    const last = lastOf(call);
    formatOf(call.value('output'));
    return withSession(call, (session) => list(session, last));
  },
};

function lastOf(call: Call): number | undefined {
  const value = call.value('last');
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new UsageError(`--last is a number such as 10, not "${value}"`);
  return Number(value);
}

async function list(session: Session, last: number | undefined): Promise<number> {
  const { call, client } = session;
  const namespace = call.isSet('all-namespaces') ? '' : session.namespace;
  const { items } = await client.list(ats, { namespace, signal: call.host.signal });
  const { now } = session.viewpoint();
  const shown = chosen(items, { last, failed: call.isSet('failed'), now });
  const format = formatOf(call.value('output'));
  if (format !== undefined) {
    call.host.output.write(listDocument(shown, ats, format));
  } else if (shown.length === 0) {
    const where = namespace === '' ? 'any namespace' : `the namespace ${namespace}`;
    session.remark(`There is no At${items.length === 0 ? '' : ' of this kind'} in ${where}.`);
  } else {
    await print(session, shown, namespace);
  }
  return exitCode.success;
}

export interface Choice {
  readonly last: number | undefined;
  readonly failed: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/** The newest last; those that wait come after all others, as their time does. */
export function chosen(items: readonly At[], { last, failed, now }: Choice): readonly At[] {
  const wanted = items.filter(
    (at) => (last === undefined || !isWaiting(at)) && (!failed || stateOf(at, now).tone === 'bad'),
  );
  const instant = (at: At) => {
    const shown = shownInstant(at);
    return Number.isNaN(shown) ? Number.POSITIVE_INFINITY : shown;
  };
  const sorted = wanted.toSorted(
    (a, b) => instant(a) - instant(b) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
  return last === undefined ? sorted : sorted.slice(-last);
}

async function print(session: Session, shown: readonly At[], namespace: string): Promise<void> {
  const { output, env } = session.call.host;
  const outputs = await lastOutputs(session, shown, namespace);
  const all = namespace === '';
  const header = [...(all ? ['NAMESPACE'] : []), 'NAME', 'STATUS', 'WHEN', 'TOOK', 'OUTPUT'];
  const rows = shown.map((at): Cell[] => [
    ...(all ? [at.metadata.namespace ?? ''] : []),
    ...row(at, outputs.get(at.metadata.uid ?? '') ?? '', session),
  ]);
  const columns = output.isTerminal ? output.columns : undefined;
  output.write(table(header, rows, styleOf(output, env), columns));
}

function row(at: At, output: string, session: Session): Cell[] {
  const view = session.viewpoint();
  const { word, tone, message } = stateOf(at, view.now);
  const instant = shownInstant(at);
  const when = Number.isNaN(instant) ? at.spec.schedule : sayWhen(instant, view);
  const reason = isDone(at) ? reasonOf(at) : message;
  return [at.metadata.name, { text: word, tone }, when, tookOf(at, view.now), oneLine(output || reason)];
}

function tookOf(at: At, now: number): string {
  const start = startedAt(at);
  if (start === undefined) return '';
  return saySpan(Math.max(0, (endedAt(at) ?? now) - start));
}

/** Of one that has ended without any output. */
function reasonOf(at: At): string {
  const said = sayOutcome(at);
  return said === at.status?.outcome ? '' : `(${said})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
