/** `kubectl configwatcher doctor`: what keeps edits from reaching Pods, and what to do about it. */
import { configWatcherSchema } from '../../api/configwatcher.generated.ts';
import { configWatchers, configWatchersCom } from '../../api/resources.ts';
import { findServed } from '../../runtime/client/discovery.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { policyFindings, type Right, rightsFindings } from '../doctor/access.ts';
import { bad, type Finding, ok, permitted, warn } from '../doctor/finding.ts';
import { operatorFindings } from '../doctor/replicas.ts';
import { doctorFlags, runDoctor } from '../doctor/run.ts';
import { kindFinding, serverFindings } from '../doctor/server.ts';
import type { Command } from '../program/command.ts';
import { stateOf } from './state.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  synopsis: '',
  summary: 'Say what keeps edits from reaching Pods, and what to do about it',
  details: [
    'Looks at the API server and its clock, the CRD, the operator and its Lease, the namespaces that it serves,',
    'ConfigWatchers that are stuck, the policies in force, and your rights. Ends with 1 when something is wrong.',
  ],
  flags: doctorFlags,
  words: { least: 0, most: 0 },
  run: (call) =>
    runDoctor(call, [
      serverFindings,
      kindFindings,
      (cluster) => operatorFindings(cluster, configWatchers),
      stuckFindings,
      policyFindings,
      (cluster) => rightsFindings(cluster, rights),
    ]),
};

const { group } = configWatchers;
const rights: readonly Right[] = [
  { verb: 'list', group, resource: 'configwatchers', for: 'list and why do not work' },
  { verb: 'watch', group, resource: 'configwatchers', for: 'wait does not work' },
  { verb: 'patch', group, resource: 'configwatchers', for: 'restart does not work' },
  { verb: 'get', group: '', resource: 'configmaps', for: 'wait and why do not see what the sources hold' },
  { verb: 'list', group: '', resource: 'pods', for: 'why does not work' },
];

/** Of the group that is served; both may be. */
async function kindFindings(cluster: Cluster): Promise<readonly Finding[]> {
  const hasCom = (await findServed(cluster.client, configWatchersCom)) !== undefined;
  const io = await kindFinding(cluster, configWatchers, configWatcherSchema);
  if (!hasCom) return [io];
  const com = await kindFinding(cluster, configWatchersCom, configWatcherSchema);
  return io.verdict === 'bad' ? [com] : [io, com];
}

async function stuckFindings({ client, namespace }: Cluster): Promise<readonly Finding[]> {
  const list = await permitted(client.list(configWatchers, { namespace }));
  if (list === undefined || list.items.length === 0) return [];
  const stuck = list.items.flatMap((watcher): Finding[] => {
    const { word, tone, message } = stateOf(watcher);
    if (tone !== 'bad') return [];
    const { name } = watcher.metadata;
    const text = `${name} in ${namespace}: ${word}, ${message}`;
    return word === 'Unseen'
      ? [bad(text, 'start an operator that serves this namespace')]
      : [warn(text, `docs/operations.md says of ${word} what to do`)];
  });
  return stuck.length === 0 ? [ok(`no ConfigWatcher in ${namespace} is stuck`)] : stuck;
}
