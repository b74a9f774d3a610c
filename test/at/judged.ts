/**
 * Judged: an At in every state that decisions lead to, with what the rest of the world has to take it for:
 * Flux, Argo CD, `helm --wait` and others judge any kind by the generic rules of kstatus.
 */
import type { At } from '../../src/api/at.generated.ts';
import type { Observed } from '../../src/at/facts/observed.ts';
import {
  accepted,
  crashLooping,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  evicted,
  failed,
  finished,
  inState,
  justAfterDue,
  launched,
  longBeforeDue,
  observing,
  ownedBy,
  started,
  succeeded,
  terminating,
  timeText,
  waiting,
  withStatus,
} from '../fixtures/at.ts';

export type Judgement = 'InProgress' | 'Current' | 'Failed' | 'Terminating';

export interface Judged {
  /** Goes after "an At". */
  readonly name: string;
  readonly at: At;
  readonly is: Judgement;
}

/** The At after as many decisions as it takes until nothing more is written, whatever they wanted done. */
function after(at: At, observed: Partial<Observed> = {}): At {
  const { status } = decide(observing({ at, live: true, ...observed }));
  const next = withStatus(at, status);
  return status === undefined || JSON.stringify(status) === JSON.stringify(at.status)
    ? next
    : after(next, observed);
}

const once = launched({ backoffLimit: 0 });
const canceled = edited(accepted(), { cancel: true });
const suspended = edited(accepted(), { suspend: true });
const guaranteed = waiting({ launchGuarantee: 'ExactlyOnce' });
const hour = 3_600_000;
const limited = launched({ activeDeadlineSeconds: 60 });
const running = created(launched());
const stopped = (reason: string) => ({
  ...failed(running, 137),
  metadata: {
    ...running.metadata,
    annotations: { ...running.metadata.annotations, 'cnat.programming-kubernetes.info/stop-reason': reason },
  },
});
const imageless = inState(running, { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } });

const waitingOnes: readonly Judged[] = [
  { name: 'that has not been observed yet', at: waiting(), is: 'InProgress' },
  { name: 'that waits for its time', at: accepted(), is: 'Current' },
  { name: 'with an edit that has not been observed yet', at: suspended, is: 'InProgress' },
  { name: 'that is suspended', at: after(suspended, { now: longBeforeDue }), is: 'Current' },
  { name: 'with an impossible command', at: after(waiting({ command: `'` })), is: 'Failed' },
  { name: 'with an impossible schedule', at: after(waiting({ schedule: 'tomorrow' })), is: 'Failed' },
  {
    name: 'with an impossible time zone',
    at: after(waiting({ schedule: '2030-01-31T09:00:00', timeZone: 'Mars/Base' })),
    is: 'Failed',
  },
  {
    name: 'with an impossible template',
    at: after(waiting({ template: { spec: { restartPolicy: 'Always' } } })),
    is: 'Failed',
  },
  {
    name: 'whose Pod is rejected, for now',
    at: after(waiting(), { refusal: { reason: 'PodRejected', message: 'quota' } }),
    is: 'Current',
  },
  {
    name: 'whose name a stranger has',
    at: after(waiting(), { pod: ownedBy(created(waiting()), 'stranger') }),
    is: 'Current',
  },
  {
    name: 'whose gated Pod is recorded',
    at: after(guaranteed, { pod: created(guaranteed) }),
    is: 'Current',
  },
];

const launchedOnes: readonly Judged[] = [
  { name: 'that runs', at: after(launched(), { pod: started(running) }), is: 'Current' },
  { name: 'whose image cannot be pulled, for now', at: after(launched(), { pod: imageless }), is: 'Current' },
  {
    name: 'whose command fails, for now',
    at: after(launched(), { pod: crashLooping(running, 2) }),
    is: 'Current',
  },
  {
    name: 'whose node does not answer',
    at: after(launched(), { pod: terminating(started(running), dueTime), now: dueTime + hour }),
    is: 'Current',
  },
  {
    name: 'that is deleted',
    at: { ...launched(), metadata: { ...launched().metadata, deletionTimestamp: timeText(dueTime) } },
    is: 'Terminating',
  },
];

const finishedOnes: readonly Judged[] = [
  { name: 'that has succeeded', at: finished(), is: 'Current' },
  {
    name: 'that succeeded before it was seen',
    at: after(waiting(), { pod: succeeded(created(waiting())) }),
    is: 'Current',
  },
  { name: 'that has failed', at: after(once, { pod: failed(created(once)) }), is: 'Failed' },
  {
    name: 'that failed too often',
    at: after(launched(), { pod: stopped('BackoffLimitExceeded') }),
    is: 'Failed',
  },
  { name: 'that never started', at: after(launched(), { pod: stopped('ImagePullBackOff') }), is: 'Failed' },
  { name: 'that ran too long', at: after(limited, { pod: stopped('DeadlineExceeded') }), is: 'Failed' },
  { name: 'that was evicted', at: after(launched(), { pod: evicted(running) }), is: 'Failed' },
  { name: 'whose Pod is lost', at: after(launched()), is: 'Failed' },
  {
    name: 'that was missed',
    at: after(waiting({ startingDeadlineSeconds: 1 }), { now: dueTime + 5000 }),
    is: 'Failed',
  },
  { name: 'that was canceled', at: after(canceled, { now: justAfterDue }), is: 'Current' },
  {
    name: 'that was canceled while it ran',
    at: after(edited(launched(), { cancel: true }), { pod: stopped('Canceled') }),
    is: 'Current',
  },
  { name: 'with an edit after its end', at: after(edited(finished(), { suspend: true })), is: 'Current' },
];

export const judged: readonly Judged[] = [...waitingOnes, ...launchedOnes, ...finishedOnes];
