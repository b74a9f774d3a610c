/** The CronTab controller: read, decide, create, write the status. */
import { isDeepStrictEqual } from 'node:util';
import { controllerManagedBy, findCondition, type Host, isAlreadyExists } from '@atwatch/runtime';
import { ats } from './at.ts';
import { decide } from './decide.ts';
import { cronTabs } from './types.generated.ts';

/** Adds the controller to a Manager, which is a Host; it runs when the Manager does. */
export function addCronTabController(host: Host): void {
  const { client, clock, informers } = host;
  const { lister } = informers.informerFor(cronTabs);
  const recorder = host.recorder('crontab');
  controllerManagedBy(host)
    .for(cronTabs)
    .complete({
      async reconcile({ namespace, name }, { signal }) {
        const cronTab = lister.get(namespace, name);
        if (cronTab === undefined || cronTab.metadata.deletionTimestamp !== undefined) return {};
        const { ats: owed, status, requeueAt } = decide(cronTab, clock.now());
        for (const at of owed) {
          await client.create(ats, at, { signal }).catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error;
          });
        }
        // Crash window: the Ats exist, the status does not show them. The next pass gets AlreadyExists.
        if (!isDeepStrictEqual(status, cronTab.status)) {
          // With the version that was decided from: a stale controller must not set handledUntil back.
          const body = { metadata: { resourceVersion: cronTab.metadata.resourceVersion }, status };
          await client.patchStatus(cronTabs, { namespace, name }, { type: 'merge', body }, { signal });
          const accepted = findCondition(status.conditions, 'Accepted');
          if (accepted?.status === 'False') {
            const { reason, message: note } = accepted;
            recorder.record(cronTabs, cronTab, { type: 'Warning', reason, action: 'Schedule', note });
          }
        }
        return requeueAt === undefined ? {} : { requeueAt };
      },
    });
}
