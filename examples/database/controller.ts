/** The controller: read, decide, write. */
import { controllerManagedBy, isNotFound, type Manager, statusPatch } from '@atwatch/runtime';
import { statefulSets } from '@atwatch/runtime/types/apps';
import { secrets, services } from '@atwatch/runtime/types/core';
import { decide, passwordOf } from './decide.ts';
import { databases } from './types.generated.ts';

/** Adds the controller to the manager; it runs when the manager does. */
export function addController(manager: Manager): void {
  const { client, clock, informers, randomness } = manager;
  const databaseLister = informers.informerFor(databases).lister;
  const serviceLister = informers.informerFor(services).lister;
  const setLister = informers.informerFor(statefulSets).lister;
  const unlessGone = (error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error));
  controllerManagedBy(manager)
    .for(databases)
    .owns(services)
    .owns(statefulSets)
    .complete({
      async reconcile(key, { signal }) {
        const database = databaseLister.get(key.namespace, key.name);
        if (database === undefined) return {};
        const service = serviceLister.get(key.namespace, key.name);
        const statefulSet = setLister.get(key.namespace, key.name);
        // Not watched: whoever may watch Secrets has all passwords. So it is looked at again after a minute.
        const secretKey = { ...key, name: passwordOf(database) };
        const secret = await client.get(secrets, secretKey, { signal }).catch(unlessGone);
        const password = randomness.bytes(24).toString('base64');
        const foreground = { propagationPolicy: 'Foreground', signal } as const;
        // Crash windows: after each write. The status comes last, and the next pass goes on.
        for (const effect of decide(database, { secret, service, statefulSet }, clock.now(), password)) {
          if (effect[0] === 'create') await client.create(effect[1], effect[2], { signal });
          else if (effect[0] === 'patch') await client.patch(effect[1], key, effect[2], { signal });
          else if (effect[0] === 'delete') await client.delete(effect[1], key, foreground).catch(unlessGone);
          else await client.patchStatus(databases, key, statusPatch(database, effect[1]), { signal });
        }
        return { requeueAfter: 60_000 };
      },
    });
}
