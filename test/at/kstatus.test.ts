/**
 * What Flux, Argo CD, `helm --wait` and others take an At for. They judge any kind by the generic rules of
 * kstatus (kubernetes-sigs/cli-utils, pkg/kstatus/status), which are written down here once more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { findCondition } from '../../src/api/conditions.ts';
import { decide } from '../../src/at/decide/decide.ts';
import {
  accepted,
  created,
  dueTime,
  evicted,
  failed,
  finished,
  justAfterDue,
  launched,
  longBeforeDue,
  observing,
  waiting,
  withStatus,
} from '../fixtures/at.ts';

type Judgement = 'InProgress' | 'Current' | 'Failed' | 'Terminating';

function judge({ metadata, status }: At): Judgement {
  const is = (type: string) => findCondition(status?.conditions, type)?.status;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) {
    return 'InProgress';
  }
  if (is('Reconciling') === 'True') return 'InProgress';
  if (is('Stalled') === 'True') return 'Failed';
  return is('Ready') === 'False' || is('Ready') === 'Unknown' ? 'InProgress' : 'Current';
}

function after(at: At, observed: Parameters<typeof observing>[0] = {}): At {
  return withStatus(at, decide(observing({ at, ...observed })).status);
}

function edited(at: At, spec: Partial<At['spec']>): At {
  return { ...at, metadata: { ...at.metadata, generation: 2 }, spec: { ...at.spec, ...spec } };
}

const once = launched({ backoffLimit: 0 });
const canceled = edited(accepted(), { cancel: true });
const suspended = edited(accepted(), { suspend: true });

const rows: { name: string; at: At; is: Judgement }[] = [
  { name: 'that nobody has looked at yet', at: waiting(), is: 'InProgress' },
  { name: 'that waits for its time', at: accepted(), is: 'Current' },
  { name: 'with an edit that nobody has looked at yet', at: suspended, is: 'InProgress' },
  { name: 'that is suspended', at: after(suspended, { now: longBeforeDue }), is: 'Current' },
  { name: 'that cannot be run', at: after(waiting({ command: `'` })), is: 'Failed' },
  {
    name: 'whose Pod is rejected, for now',
    at: after(waiting(), { refusal: { message: 'quota' } }),
    is: 'Current',
  },
  { name: 'that runs', at: launched(), is: 'Current' },
  { name: 'that has succeeded', at: finished(), is: 'Current' },
  { name: 'that has failed', at: after(once, { pod: failed(created(once)) }), is: 'Failed' },
  { name: 'that was evicted', at: after(launched(), { pod: evicted(created(launched())) }), is: 'Failed' },
  {
    name: 'that was missed',
    at: after(waiting({ startingDeadlineSeconds: 1 }), { now: dueTime + 5000, live: true }),
    is: 'Failed',
  },
  { name: 'that was canceled', at: after(canceled, { now: justAfterDue, live: true }), is: 'Current' },
  { name: 'with an edit after its end', at: after(edited(finished(), { suspend: true })), is: 'Current' },
];

describe('kstatus', () => {
  for (const { name, at, is } of rows) {
    it(`takes an At ${name} for ${is}`, () => assert.equal(judge(at), is));
  }
});
