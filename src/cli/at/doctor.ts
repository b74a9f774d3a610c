/** `kubectl at doctor`: what keeps Ats from running, and what to do about it. */
import { atSchema } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { policyFindings, type Right, rightsFindings } from '../doctor/access.ts';
import { bad, type Finding, ok, permitted } from '../doctor/finding.ts';
import { operatorFindings } from '../doctor/replicas.ts';
import { doctorFlags, runDoctor } from '../doctor/run.ts';
import { kindFinding, serverFindings } from '../doctor/server.ts';
import type { Command } from '../program/command.ts';
import { isWaiting, stateOf } from './state.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  synopsis: '',
  summary: 'Say what keeps Ats from running, and what to do about it',
  details: [
    'Looks at the API server and its clock, the CRD, the operator and its Lease, the namespaces that it serves, the',
    'policies in force, your rights, and Ats that should have run. Ends with 1 when something is wrong.',
  ],
  flags: doctorFlags,
  words: { least: 0, most: 0 },
  run: (call) =>
    runDoctor(call, [
      serverFindings,
      async (cluster) => [await kindFinding(cluster, ats, atSchema)],
      (cluster) => operatorFindings(cluster, ats),
      overdueFindings,
      policyFindings,
      (cluster) => rightsFindings(cluster, rights),
    ]),
};

const { group } = ats;
const rights: readonly Right[] = [
  { verb: 'create', group, resource: 'ats', for: 'kubectl at WHEN and rerun do not work' },
  { verb: 'list', group, resource: 'ats', for: 'list and clean do not work' },
  { verb: 'watch', group, resource: 'ats', for: 'wait and logs -f do not work' },
  { verb: 'patch', group, resource: 'ats', for: 'cancel, suspend, resume and move do not work' },
  { verb: 'delete', group, resource: 'ats', for: 'clean does not work' },
  {
    verb: 'create',
    group: '',
    resource: 'pods',
    for: 'your Ats are refused where the policy "requester" is in force',
  },
  { verb: 'get', group: '', resource: 'pods/log', for: 'logs, and the output in list and show, do not work' },
];

/** An operator that serves the namespace has taken notice of an At within this, ms. */
const noticeLimit = 10_000;

async function overdueFindings({ client, clock, namespace }: Cluster): Promise<readonly Finding[]> {
  const list = await permitted(client.list(ats, { namespace }));
  if (list === undefined) return [];
  const now = clock.now();
  const unseen = list.items.filter(({ metadata, status }) => {
    const age = now - parseTime(metadata.creationTimestamp ?? '');
    return (status?.observedGeneration ?? -1) < 0 && age > noticeLimit;
  });
  const overdue = list.items.filter((at) => isWaiting(at) && stateOf(at, now).word === 'Overdue');
  const waiting = [...new Set([...unseen, ...overdue])].map(({ metadata }) => metadata.name);
  if (list.items.length === 0) return [];
  if (waiting.length === 0) return [ok(`an operator handles the Ats in ${namespace}`)];
  const names = `${waiting.slice(0, 5).join(', ')}${waiting.length > 5 ? ` and ${waiting.length - 5} more` : ''}`;
  return [
    bad(
      `no operator handles the Ats in ${namespace}: ${names}`,
      'start an operator that serves this namespace',
    ),
  ];
}
