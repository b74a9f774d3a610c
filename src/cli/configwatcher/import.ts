/** `kubectl configwatcher import reloader|wave`: ConfigWatchers for what a cluster has by annotations today. */
import { configWatchers } from '../../api/resources.ts';
import type { Client } from '../../runtime/client/client.ts';
import { type Workload, workloads } from '../cluster/resources.ts';
import { objectDocument } from '../output/document.ts';
import { allNamespacesFlag, type Command, clusterFlags } from '../program/command.ts';
import { exitCode, UsageError } from '../program/exit.ts';
import { type AnnotatedWorkload, fromReloader, fromWave, type Imported } from './reloader.ts';
import { type Session, withSession } from './session.ts';

const origins: Readonly<Record<string, (workload: AnnotatedWorkload) => Imported>> = {
  reloader: fromReloader,
  wave: fromWave,
};

export const importCommand: Command = {
  name: 'import',
  synopsis: 'reloader|wave [-A] [--dry-run]',
  summary: 'Print ConfigWatchers for what Reloader or wave is asked for by annotations',
  details: [
    'Reads Deployments, StatefulSets and DaemonSets, and prints a ConfigWatcher for each that asks for restarts. What',
    'has no equivalent is said on standard error. Nothing is written: kubectl apply does that, after a look. Remove the',
    'other controller first, because two of them restart everything twice.',
  ],
  examples: ['kubectl configwatcher import reloader -A > watchers.yaml'],
  flags: {
    'dry-run': { description: 'without effect: nothing is written in any case' },
    ...allNamespacesFlag,
    ...clusterFlags,
  },
  words: { least: 1, most: 1, completes: Object.keys(origins) },
  run: (call) => {
    const origin = call.words[0] ?? '';
    const read = Object.hasOwn(origins, origin) ? origins[origin] : undefined;
    if (read === undefined) throw new UsageError(`import is from reloader or wave, not "${origin}"`);
    return withSession(call, (session) => importAll(session, read));
  },
};

async function importAll(session: Session, read: (workload: AnnotatedWorkload) => Imported): Promise<number> {
  const { call, client } = session;
  const namespace = call.isSet('all-namespaces') ? '' : session.namespace;
  let count = 0;
  for (const workload of await annotatedWorkloads(client, namespace)) {
    const { kind, name, namespace: place } = workload;
    const { spec, remarks } = read(workload);
    for (const remark of remarks) session.remark(`${kind} ${place}/${name}: ${remark}.`);
    if (spec === undefined) continue;
    count += 1;
    const watcher = { metadata: { name: `${kind.toLowerCase()}-${name}`, namespace: place }, spec };
    call.host.output.write(`---\n${objectDocument(watcher, configWatchers, 'yaml')}`);
  }
  session.remark(
    `${count === 1 ? '1 ConfigWatcher' : `${count} ConfigWatchers`} printed; nothing was written.`,
  );
  return exitCode.success;
}

async function annotatedWorkloads(client: Client, namespace: string): Promise<readonly AnnotatedWorkload[]> {
  const lists = ['deployment', 'statefulset', 'daemonset'].map(async (name) => {
    const resource = workloads[name];
    if (resource === undefined) return [];
    const { items } = await client.list(resource, { namespace });
    return items.map((item) => annotated(item, resource.kind));
  });
  return (await Promise.all(lists)).flat();
}

function annotated({ metadata, spec }: Workload, kind: string): AnnotatedWorkload {
  const { name, namespace = '', annotations = {} } = metadata;
  return { kind, name, namespace, annotations, selector: spec.selector ?? {}, template: spec.template };
}
