/** `kubectl configwatcher import reloader|wave`: ConfigWatchers for what a cluster has by annotations today. */
import type { PresentSources } from '../../annotated-workloads/plan/reloader.ts';
import { watcherName } from '../../annotated-workloads/plan/watcher.ts';
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { reloaderSourceAnnotation } from '../../api/configwatcher-constants.ts';
import { configWatchers } from '../../api/resources.ts';
import { configMaps, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { isForbidden } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import { secrets, workloads } from '../cluster/resources.ts';
import { formatOf, formats, listDocument, objectDocument } from '../output/document.ts';
import { allNamespacesFlag, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, UsageError } from '../program/exit.ts';
import { type AnnotatedWorkload, fromReloader, fromWave, type Imported } from './reloader.ts';
import { type Session, withSession } from './session.ts';

type Origin = (workload: AnnotatedWorkload, present: PresentSources) => Imported;

const origins: Readonly<Record<string, Origin>> = { reloader: fromReloader, wave: fromWave };

export const importCommand: Command = {
  name: 'import',
  synopsis: 'reloader|wave [-A] [--dry-run]',
  summary: 'Print ConfigWatchers for the annotations of Reloader or wave',
  details: [
    'Reads Deployments, StatefulSets and DaemonSets, and prints a ConfigWatcher for each that asks for restarts. What',
    'has no equivalent is said on standard error. Nothing is written: kubectl apply does that, after a look. Remove the',
    'other controller first, because two of them restart everything twice.',
  ],
  examples: ['kubectl configwatcher import reloader -A > watchers.yaml'],
  flags: {
    'dry-run': { description: 'without effect: nothing is written in any case' },
    ...allNamespacesFlag,
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 1, most: 1, completes: Object.keys(origins) },
  run: (call) => {
    const origin = call.words[0] ?? '';
    const read = Object.hasOwn(origins, origin) ? origins[origin] : undefined;
    if (read === undefined) throw new UsageError(`import is from reloader or wave, not "${origin}"`);
    formatOf(call.value('output'));
    return withSession(call, (session) => importAll(session, read));
  },
};

async function importAll(session: Session, read: Origin): Promise<number> {
  const { call, client } = session;
  const scope = call.isSet('all-namespaces') ? '' : session.namespace;
  const [workloads, sources] = await Promise.all([
    annotatedWorkloads(client, scope),
    sourcesIn(session, scope),
  ]);
  const watchers: ConfigWatcher[] = [];
  for (const annotated of workloads) {
    const { kind, workload } = annotated;
    const { name, namespace = '' } = workload.metadata;
    const { spec, remarks } = read(annotated, presentIn(sources, namespace));
    for (const remark of remarks) session.remark(`${kind} ${namespace}/${name}: ${remark}.`);
    if (spec === undefined) continue;
    watchers.push({ metadata: { name: watcherName(kind, name), namespace }, spec });
  }
  const format = formatOf(call.value('output')) ?? 'yaml';
  call.host.output.write(
    format === 'yaml'
      ? watchers.map((watcher) => `---\n${objectDocument(watcher, configWatchers, format)}`).join('')
      : listDocument(watchers, configWatchers, format),
  );
  const { length } = watchers;
  session.remark(
    `${length === 1 ? '1 ConfigWatcher' : `${length} ConfigWatchers`} printed; nothing was written.`,
  );
  return exitCode.success;
}

async function annotatedWorkloads(client: Client, namespace: string): Promise<readonly AnnotatedWorkload[]> {
  const lists = ['deployment', 'statefulset', 'daemonset'].map(async (name) => {
    const resource = workloads[name];
    if (resource === undefined) return [];
    const { items } = await client.list(resource, { namespace });
    return items.map((workload) => ({ kind: resource.kind, workload }));
  });
  return (await Promise.all(lists)).flat();
}

type Sources = Readonly<Record<'ConfigMap' | 'Secret', readonly KubernetesObject[]>>;

/** Their metadata. Who may not list Secrets gets the ConfigWatchers without those that a pattern means. */
async function sourcesIn({ client, remark }: Session, namespace: string): Promise<Sources> {
  const list = async (resource: Resource) => {
    try {
      return (await client.list(resource, { namespace, metadataOnly: true })).items;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      remark(`${resource.plural} may not be listed: patterns and searches find none of them.`);
      return [];
    }
  };
  const [ConfigMap, Secret] = await Promise.all([list(configMaps), list(secrets)]);
  return { ConfigMap, Secret };
}

function presentIn(sources: Sources, namespace: string): PresentSources {
  const { match, ignore } = reloaderSourceAnnotation;
  const of = (kind: keyof Sources) =>
    sources[kind].filter(({ metadata }) => metadata.namespace === namespace);
  return {
    find(kind, name) {
      const source = of(kind).find(({ metadata }) => metadata.name === name);
      const { annotations = {} } = source?.metadata ?? {};
      return source && { match: annotations[match] === 'true', ignore: annotations[ignore] === 'true' };
    },
    names: (kind) => of(kind).map(({ metadata }) => metadata.name),
  };
}
