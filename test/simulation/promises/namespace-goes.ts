/** L11: nothing that the operator holds keeps a namespace from going. */
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { parseTime } from '../../../src/kubernetes/time.ts';
import { among, kept, type NamedPromise } from '../history.ts';
import { mayStayHeld } from './exactly-once.ts';
import { hasWorked } from './liveness.ts';

/** With all that is in it, in milliseconds: Pods may have a grace period, and their nodes may have been away. */
const goneWithin = 120_000;

export const namespaceGoes: NamedPromise = {
  name: 'L11',
  sentence: 'a namespace that is deleted goes, with all that is in it',
  start(history) {
    return {
      change: ({ resource, change }) =>
        resource === 'namespaces' && change === 'DELETED' ? kept : undefined,
      calm() {
        if (!hasWorked(history, goneWithin)) return undefined;
        return among(history.objects.list('namespaces'), ({ metadata: { name, deletionTimestamp } }) => {
          if (deletionTimestamp === undefined) return undefined;
          const pods = history.objects.in<Pod>('pods', name);
          if (pods.some((pod) => mayStayHeld(history, pod))) return undefined;
          const isLate = history.time - parseTime(deletionTimestamp) > goneWithin;
          return isLate ? { text: `the namespace ${name} is still there` } : undefined;
        });
      },
    };
  },
};
