/** The list of ConfigWatchers, and the page of one: what it watches, and a restart's progress per owner. */
import { K8s } from '@kinvolk/headlamp-plugin/lib';
import {
  ConditionsSection,
  DetailsGrid,
  ResourceListView,
  SectionBox,
  SimpleTable,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useParams } from 'react-router-dom';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { sayPods, saySource, stateOf } from '../../src/cli/configwatcher/state.ts';
import { sayWhen, type Viewpoint } from '../../src/cli/time/local.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { type OwnerProgress, progressOf, sourcesOf } from './progress.ts';
import { ConfigWatcherClass } from './resources.ts';
import { plain, Status, useViewpoint } from './status.tsx';

type Item = InstanceType<typeof ConfigWatcherClass>;

const statusOf = (item: Item) => plain<ConfigWatcher>(item).status ?? {};

export function ConfigWatcherList() {
  const view = useViewpoint();
  const state = (item: Item) => stateOf(plain<ConfigWatcher>(item));
  return (
    <ResourceListView
      title="ConfigWatchers"
      resourceClass={ConfigWatcherClass}
      columns={[
        'name',
        'namespace',
        {
          id: 'state',
          label: 'State',
          getValue: (item) => state(item).word,
          render: (item) => <Status {...state(item)} />,
        },
        {
          id: 'sources',
          label: 'Sources',
          getValue: (item) => sourcesOf(plain<ConfigWatcher>(item)).join(', '),
        },
        { id: 'pods', label: 'Pods', getValue: (item) => statusOf(item).matchedPods },
        { id: 'stale', label: 'Stale', getValue: (item) => statusOf(item).stalePods },
        {
          id: 'last-restart',
          label: 'Last restart',
          getValue: (item) => parseTime(statusOf(item).lastRestartTime ?? ''),
          render: (item) => sayTime(statusOf(item).lastRestartTime, view),
        },
        'age',
      ]}
    />
  );
}

function sayTime(time: string | undefined, view: Viewpoint): string {
  return time === undefined ? 'never' : sayWhen(parseTime(time), view);
}

export function ConfigWatcherDetails() {
  const { namespace = '', name = '' } = useParams<{ namespace: string; name: string }>();
  const view = useViewpoint();
  const mainRows = (item: Item | null) => {
    if (item === null) return null;
    const watcher = plain<ConfigWatcher>(item);
    const { word, tone, message } = stateOf(watcher);
    const { lastRestartTime, lastRestart } = watcher.status ?? {};
    const trigger = lastRestart?.trigger;
    return [
      { name: 'State', value: <Status word={word} tone={tone} /> },
      { name: 'Message', value: message, hide: message === '' },
      { name: 'Sources', value: sourcesOf(watcher).join(', ') },
      { name: 'Last restart', value: sayTime(lastRestartTime, view) },
      {
        name: 'Because of',
        value: trigger === undefined ? '' : saySource(trigger),
        hide: trigger === undefined,
      },
    ];
  };
  return (
    <DetailsGrid
      resourceType={ConfigWatcherClass}
      name={name}
      namespace={namespace}
      withEvents
      extraInfo={mainRows}
      extraSections={(item) =>
        item === null
          ? []
          : [
              { id: 'atwatch.progress', section: <Restart watcher={plain<ConfigWatcher>(item)} /> },
              { id: 'atwatch.conditions', section: <ConditionsSection resource={item.jsonData} /> },
            ]
      }
    />
  );
}

const { Pod: PodClass } = K8s.ResourceClasses;

function Restart({ watcher }: { readonly watcher: ConfigWatcher }) {
  const { namespace = '' } = watcher.metadata;
  const [pods] = PodClass.useList({ namespace });
  const { done, owners } = progressOf(
    watcher,
    (pods ?? []).map((pod) => plain<Pod>(pod)),
  );
  const title =
    done === undefined ? 'Last restart' : `Restart: ${done.restarted} of ${sayPods(done.total)} done`;
  const isUnderWay = done !== undefined;
  return (
    <SectionBox title={title}>
      <SimpleTable
        columns={[
          { label: 'Owner', datum: 'owner' },
          {
            label: 'With the new content',
            getter: ({ restarted, wanted }: OwnerProgress) => of(restarted, wanted),
          },
          { label: 'Available', getter: ({ available, wanted }: OwnerProgress) => of(available, wanted) },
          {
            label: isUnderWay ? 'State' : 'Outcome',
            getter: ({ state }: OwnerProgress) => (
              <Status word={state} tone={state === 'Available' ? 'good' : 'warn'} />
            ),
          },
        ]}
        data={[...owners]}
        emptyMessage={isUnderWay ? 'No owner is in the middle of it.' : 'No restart so far.'}
      />
    </SectionBox>
  );
}

function of(count: number, wanted: number | undefined): string {
  return wanted === undefined ? String(count) : `${count} of ${wanted}`;
}
