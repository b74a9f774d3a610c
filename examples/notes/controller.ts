/** The controller: read, decide, write. */
import { controllerManagedBy, type Host, type Reconciler, statusPatch } from '@atwatch/runtime';
import { configMaps } from '@atwatch/runtime/types/core';
import { decide } from './decide.ts';
import { notes } from './types.generated.ts';

/** Adds the controller to a Manager, which is a Host; it runs when the Manager does. */
export function addController(host: Host): void {
  const { client, clock, informers } = host;
  const noteLister = informers.informerFor(notes).lister;
  const configMapLister = informers.informerFor(configMaps).lister;
  const reconciler: Reconciler = {
    async reconcile(key, { signal }) {
      const note = noteLister.get(key.namespace, key.name);
      if (note === undefined || note.metadata.deletionTimestamp !== undefined) return {};
      const found = configMapLister.get(key.namespace, key.name);
      const { create, update, conditions } = decide(note, found, clock.now());
      if (create) await client.create(configMaps, create, { signal });
      if (update) await client.update(configMaps, update, { signal });
      // Crash window: the ConfigMap is as it should be, the status does not say so. The next pass does.
      if (conditions !== note.status?.conditions) {
        await client.patchStatus(notes, key, statusPatch(note, { conditions }), { signal });
      }
      return {};
    },
  };
  controllerManagedBy(host).for(notes).owns(configMaps).complete(reconciler);
}
