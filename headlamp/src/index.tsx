/** The plugin: an entry in the sidebar, and a list and a page for each kind. */
import { registerRoute, registerSidebarEntry } from '@kinvolk/headlamp-plugin/lib';
import type { ComponentType } from 'react';
import { AtDetails, AtList } from './at-pages.tsx';
import { ConfigWatcherDetails, ConfigWatcherList } from './configwatcher-pages.tsx';
import { AtClass, ConfigWatcherClass } from './resources.ts';

interface Pages {
  readonly resource: typeof AtClass;
  readonly label: string;
  readonly List: ComponentType;
  readonly Details: ComponentType;
}

registerSidebarEntry({
  parent: null,
  name: 'atwatch',
  label: 'atwatch',
  url: '/atwatch/ats',
  icon: 'mdi:clock-outline',
});

// Headlamp links to an object by the name of a route, which is what its class tells.
function register({ resource, label, List, Details }: Pages): void {
  const { apiName, listRoute, detailsRoute } = resource;
  const path = `/atwatch/${apiName}`;
  registerSidebarEntry({ parent: 'atwatch', name: apiName, label, url: path });
  registerRoute({ path, sidebar: apiName, name: listRoute, exact: true, component: () => <List /> });
  registerRoute({
    path: `${path}/:namespace/:name`,
    sidebar: apiName,
    name: detailsRoute,
    exact: true,
    component: () => <Details />,
  });
}

register({ resource: AtClass, label: 'Ats', List: AtList, Details: AtDetails });
register({
  resource: ConfigWatcherClass,
  label: 'ConfigWatchers',
  List: ConfigWatcherList,
  Details: ConfigWatcherDetails,
});
