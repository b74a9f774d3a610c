/** `kubectl configwatcher list`: what is watched, and where each stands. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { readSpec } from '../../configwatcher/plan/spec.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { formatOf, formats, listDocument } from '../output/document.ts';
import { styleOf } from '../output/style.ts';
import { type Cell, table } from '../output/table.ts';
import { allNamespacesFlag, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { sayWhen, type Viewpoint } from '../time/local.ts';
import { type Session, withSession } from './session.ts';
import { stateOf } from './state.ts';

export const listCommand: Command = {
  name: 'list',
  synopsis: '[-A]',
  summary: 'List the ConfigWatchers, with what they watch and their state',
  details: ['STALE are Pods that run with an older content and are still to be restarted.'],
  flags: { ...allNamespacesFlag, ...outputFlag(...formats), ...clusterFlags },
  words: { least: 0, most: 0 },
  run: (call) => {
    formatOf(call.value('output'));
    return withSession(call, list);
  },
};

async function list(session: Session): Promise<number> {
  const { call, client, resource } = session;
  const all = call.isSet('all-namespaces');
  const namespace = all ? '' : session.namespace;
  const { items } = await client.list(resource, { namespace, signal: call.host.signal });
  const format = formatOf(call.value('output'));
  if (format !== undefined) {
    call.host.output.write(listDocument(items, resource, format));
    return exitCode.success;
  }
  if (items.length === 0) {
    session.remark(`There is no ConfigWatcher in ${all ? 'any namespace' : `the namespace ${namespace}`}.`);
    return exitCode.success;
  }
  const { output, env } = call.host;
  const header = ['NAME', 'STATE', 'SOURCES', 'PODS', 'STALE', 'LAST-RESTART', 'DETAIL'];
  const view = session.viewpoint();
  const rows = items.map((watcher) =>
    all ? [watcher.metadata.namespace ?? '', ...row(watcher, view)] : row(watcher, view),
  );
  const columns = output.isTerminal ? output.columns : undefined;
  output.write(table(all ? ['NAMESPACE', ...header] : header, rows, styleOf(output, env), columns));
  return exitCode.success;
}

function row(watcher: ConfigWatcher, view: Viewpoint): Cell[] {
  const { word, tone, message } = stateOf(watcher);
  const { matchedPods, stalePods, lastRestartTime = '' } = watcher.status ?? {};
  const restarted = parseTime(lastRestartTime);
  return [
    watcher.metadata.name,
    { text: word, tone },
    saySources(watcher),
    String(matchedPods ?? ''),
    String(stalePods ?? ''),
    Number.isNaN(restarted) ? 'never' : sayWhen(restarted, view),
    tone === 'good' ? '' : message,
  ];
}

function saySources({ spec }: ConfigWatcher): string {
  const read = readSpec(spec);
  if ('invalid' in read) return '';
  return read.sources.map(({ kind, name }) => (kind === 'ConfigMap' ? name : `secret/${name}`)).join(',');
}
