/** Sources: what the sources of a ConfigWatcher hold now, and whether its Pods run with that. */
import type { ConfigWatcher, ConfigWatcherStatusSource } from '../../api/configwatcher.generated.ts';
import { contentHash, isNamed, isSameHash, withScheme } from '../../configwatcher/plan/config-hash.ts';
import { readSpec, type WatchedSource } from '../../configwatcher/plan/spec.ts';
import { type ConfigMap, configMaps } from '../../kubernetes/objects.ts';
import { isNotFound } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';

/** A ConfigMap that is watched, as it is now. */
export interface PresentSource {
  readonly source: WatchedSource;
  /** Undefined: it does not exist. */
  readonly object: ConfigMap | undefined;
}

/** The ConfigMaps alone: the hash of a Secret has a key that only the operator knows. */
export async function presentSources(
  client: Client,
  watcher: ConfigWatcher,
): Promise<readonly PresentSource[]> {
  const spec = readSpec(watcher.spec);
  if ('invalid' in spec) return [];
  const namespace = watcher.metadata.namespace ?? '';
  const watched = spec.sources.filter(({ kind }) => kind === 'ConfigMap');
  return Promise.all(
    watched.map(async (source) => ({ source, object: await readConfigMap(client, namespace, source.name) })),
  );
}

async function readConfigMap(
  client: Client,
  namespace: string,
  name: string,
): Promise<ConfigMap | undefined> {
  try {
    return await client.get(configMaps, { namespace, name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Those that the Pods do not run with yet, by what status says. */
export function outdated(
  watcher: ConfigWatcher,
  present: readonly PresentSource[],
): readonly PresentSource[] {
  return differing(watcher, present, ({ hash }) => hash);
}

/** Those that no operator has seen yet, by what status says. */
export function unseen(watcher: ConfigWatcher, present: readonly PresentSource[]): readonly PresentSource[] {
  return differing(watcher, present, ({ hash = '', pendingHash }) =>
    pendingHash === undefined ? hash : withScheme(pendingHash, hash),
  );
}

function differing(
  { status }: ConfigWatcher,
  present: readonly PresentSource[],
  hashOf: (recorded: ConfigWatcherStatusSource) => string | undefined,
): readonly PresentSource[] {
  return present.filter(({ source, object }) => {
    const recorded = status?.sources?.find(
      ({ kind, name }) => kind === source.kind && isNamed(name ?? '', source.name),
    );
    return !isSameHash((recorded && hashOf(recorded)) ?? '', contentHash(source, object));
  });
}
