/**
 * Decide: what to do about one At, from what was observed of it and its Pods. Pure and synchronous; deciding
 * again after any part of a decision was performed, or none, leads to the same end.
 */

import { currentLaunch } from '../facts/own-pod.ts';
import { phaseOf } from '../plan/phase.ts';
import { decideDone } from './decide-done.ts';
import { decidePending } from './decide-pending.ts';
import { decideRunning } from './decide-running.ts';
import { type Decision, type Observed, readLive } from './decision.ts';
import { letGo } from './exactly-once.ts';

export function decide(o: Observed): Decision {
  // On its way out: nothing is launched, tried again or written. Its Pods go with it.
  if (o.at.metadata.deletionTimestamp !== undefined) {
    return letGo(o);
  }
  const phase = phaseOf(o.at);
  if (o.behind && !o.live && phase !== 'DONE') {
    // What it was shown may forbid what the cache still asks for.
    return readLive;
  }
  switch (phase) {
    case 'PENDING':
      // Our Pod exists, or existed: whatever the phase says, and however the spec was edited since.
      return currentLaunch(o) === undefined ? decidePending(o) : decideRunning(o);
    case 'RUNNING':
      return decideRunning(o);
    case 'DONE':
      return decideDone(o);
  }
}
