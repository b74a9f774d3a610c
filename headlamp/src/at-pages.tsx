/** The list of Ats, and the page of one: what it runs, its timeline, and the way to the log. */
import { K8s, Router } from '@kinvolk/headlamp-plugin/lib';
import {
  DetailsGrid,
  ResourceListView,
  SectionBox,
  SimpleTable,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Link, useParams } from 'react-router-dom';
import type { At } from '../../src/api/at.generated.ts';
import { podUidLabel } from '../../src/at/plan/pod.ts';
import {
  dueAt,
  endedAt,
  isDone,
  sayCommand,
  sayOutcome,
  shownInstant,
  startedAt,
  stateOf,
} from '../../src/cli/at/state.ts';
import { type Moment, timelineOf } from '../../src/cli/at/timeline.ts';
import type { CoreEvent } from '../../src/cli/cluster/resources.ts';
import { localTime, sayLocal, sayWhen } from '../../src/cli/time/local.ts';
import { saySpan } from '../../src/cli/time/span.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { AtClass } from './resources.ts';
import { plain, Status, useViewpoint } from './status.tsx';

type Item = InstanceType<typeof AtClass>;

export function AtList() {
  const view = useViewpoint();
  const state = (item: Item) => stateOf(plain<At>(item), view.now);
  const said = (item: Item) => {
    const at = plain<At>(item);
    return isDone(at) ? sayOutcome(at) : state(item).message;
  };
  return (
    <ResourceListView
      title="Ats"
      resourceClass={AtClass}
      columns={[
        'name',
        'namespace',
        {
          id: 'status',
          label: 'Status',
          getValue: (item) => state(item).word,
          render: (item) => <Status {...state(item)} />,
        },
        {
          id: 'when',
          label: 'When',
          getValue: (item) => shownInstant(plain<At>(item)),
          render: (item) => sayInstant(shownInstant(plain<At>(item)), (instant) => sayWhen(instant, view)),
        },
        { id: 'took', label: 'Took', getValue: (item) => sayTook(plain<At>(item), view.now) },
        { id: 'command', label: 'Command', getValue: (item) => sayCommand(plain<At>(item)) },
        { id: 'message', label: 'Message', getValue: said },
        'age',
      ]}
    />
  );
}

function sayInstant(instant: number, say: (instant: number) => string): string {
  return Number.isNaN(instant) ? '' : say(instant);
}

function sayTook(at: At, now: number): string {
  const start = startedAt(at);
  return start === undefined ? '' : saySpan(Math.max(0, (endedAt(at) ?? now) - start));
}

export function AtDetails() {
  const { namespace = '', name = '' } = useParams<{ namespace: string; name: string }>();
  const { now, zone } = useViewpoint();
  const mainRows = (item: Item | null) => {
    if (item === null) return null;
    const at = plain<At>(item);
    const { word, tone, message } = stateOf(at, now);
    return [
      { name: 'Status', value: <Status word={word} tone={tone} /> },
      { name: 'Message', value: message, hide: message === '' },
      { name: 'Command', value: <code>{sayCommand(at)}</code> },
      {
        name: 'Due',
        value: sayInstant(dueAt(at), (instant) => `${sayLocal(localTime(instant, zone))} (${zone})`),
      },
      { name: 'Log', value: <LogLink at={at} />, hide: at.status?.podName === undefined },
    ];
  };
  return (
    <DetailsGrid
      resourceType={AtClass}
      name={name}
      namespace={namespace}
      extraInfo={mainRows}
      extraSections={(item) =>
        item === null ? [] : [{ id: 'atwatch.timeline', section: <Timeline at={plain<At>(item)} /> }]
      }
    />
  );
}

/**
 * Of the Pod that status names: Headlamp opens the log beside the page of that Pod. A link of Headlamp's own would
 * open the Pod in a drawer instead, without its log.
 */
function LogLink({ at }: { readonly at: At }) {
  const { podName = '' } = at.status ?? {};
  const { namespace = '' } = at.metadata;
  const page = Router.createRouteURL('pod', { namespace, name: podName });
  return <Link to={`${page}?view=logs`}>the output of {podName}</Link>;
}

/** Only what went well or wrong has a colour. */
function Told({ text, tone }: Pick<Moment, 'text' | 'tone'>) {
  return tone === 'plain' || tone === 'strong' ? text : <Status word={text} tone={tone} />;
}

const { Pod: PodClass } = K8s.ResourceClasses;
const EventClass = K8s.event.default;

function Timeline({ at }: { readonly at: At }) {
  const { now, zone } = useViewpoint();
  const { namespace = '', uid = '' } = at.metadata;
  const [pods] = PodClass.useList({ namespace, labelSelector: `${podUidLabel}=${uid}` });
  const [events] = EventClass.useList({ namespace });
  const own = (pods ?? []).map((pod) => plain<Pod>(pod));
  const uids = new Set([uid, ...own.map(({ metadata }) => metadata.uid)]);
  const all = (events ?? []).filter((event) => uids.has(event.involvedObject?.uid));
  const moments = timelineOf({ at, pods: own, events: all.map((event) => plain<CoreEvent>(event)), now });
  return (
    <SectionBox title="Timeline">
      <SimpleTable
        columns={[
          { label: 'Time', getter: ({ time }: Moment) => sayLocal(localTime(time, zone)) },
          { label: 'Of', datum: 'source' },
          { label: 'What', getter: ({ text, tone }: Moment) => <Told text={text} tone={tone} /> },
        ]}
        data={[...moments]}
        emptyMessage="Nothing has happened yet."
      />
    </SectionBox>
  );
}
