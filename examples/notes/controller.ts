/** The controller: read, decide, write. */
import { controllerManagedBy, type Manager } from '@atwatch/runtime';
import { configMaps } from '@atwatch/runtime/types/core';
import { decide } from './decide.ts';
import { notes } from './types.generated.ts';

/** Adds the controller to the manager; it runs when the manager does. */
export function addController(manager: Manager): void {
  const { client, clock, informers } = manager;
  const noteLister = informers.informerFor(notes).lister;
  const configMapLister = informers.informerFor(configMaps).lister;
  controllerManagedBy(manager)
    .for(notes)
    .owns(configMaps)
    .complete({
      async reconcile({ namespace, name }, { signal }) {
        const note = noteLister.get(namespace, name);
        if (note === undefined || note.metadata.deletionTimestamp !== undefined) return {};
        const found = configMapLister.get(namespace, name);
        const { configMap, conditions } = decide(note, found, clock.now());
        if (configMap && !found) await client.create(configMaps, configMap, { signal });
        else if (configMap) {
          const body = {
            metadata: { resourceVersion: found?.metadata.resourceVersion },
            data: configMap.data,
          };
          await client.patch(configMaps, { namespace, name }, { type: 'merge', body }, { signal });
        }
        // Crash window: the ConfigMap is as it should be, the status does not say so. The next pass does.
        if (conditions !== note.status?.conditions) {
          const body = {
            metadata: { resourceVersion: note.metadata.resourceVersion },
            status: { conditions },
          };
          await client.patchStatus(notes, { namespace, name }, { type: 'merge', body }, { signal });
        }
        return {};
      },
    });
}
