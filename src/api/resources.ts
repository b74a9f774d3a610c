/** Where the REST collections of this project's own kinds live. */

import type { Resource } from '../kubernetes/objects.ts';
import type { At } from './at.generated.ts';
import type { ConfigWatcher } from './configwatcher.generated.ts';

export const ats: Resource<At> = {
  group: 'cnat.programming-kubernetes.info',
  version: 'v1alpha1',
  plural: 'ats',
  kind: 'At',
  namespaced: true,
};

export const configWatchers: Resource<ConfigWatcher> = {
  group: 'k8spatterns.io',
  version: 'v1',
  plural: 'configwatchers',
  kind: 'ConfigWatcher',
  namespaced: true,
};

/** The same kind in its second, optional group. */
export const configWatchersCom: Resource<ConfigWatcher> = { ...configWatchers, group: 'k8spatterns.com' };
