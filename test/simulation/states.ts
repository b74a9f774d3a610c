/** States: what an object may be in, as the rows of the coverage table name it. */
import type { Feature } from './plan/features.ts';

export interface ExpectedState {
  readonly row: string;
  /** What a plan needs so that an object may come into it. */
  readonly feature: Feature;
}

function rows(prefix: string, states: Readonly<Record<string, Feature>>): ExpectedState[] {
  return Object.entries(states).map(([reason, feature]) => ({ row: `${prefix} ${reason}`, feature }));
}

export const states: readonly ExpectedState[] = [
  ...rows('At PENDING', {
    New: 'at',
    Armed: 'at',
    Suspended: 'at-suspend',
    PodRejected: 'at',
    PodNameConflict: 'at-stranger',
    CreateFailed: 'at',
    NotAuthorized: 'at-author',
    InvalidCommand: 'at-invalid',
  }),
  ...rows('At RUNNING', {
    Launched: 'at',
    CommandFailing: 'at',
    BetweenAttempts: 'at-retry',
    SchedulingGated: 'at-exactly-once',
    ImagePullBackOff: 'at-image',
    StartError: 'at-cannot-start',
    Unschedulable: 'at-unschedulable',
    Stopping: 'at-cancel',
  }),
  ...rows('At DONE', { Succeeded: 'at', Missed: 'at-deadlines', Canceled: 'at-cancel' }),
  ...rows('At DONE Failed', {
    CommandFailed: 'at',
    CannotStart: 'at-cannot-start',
    DeadlineExceeded: 'at-deadlines',
    PendingTimeout: 'at-deadlines',
    Disrupted: 'at',
  }),
  ...rows('ConfigWatcher', {
    New: 'watcher',
    UpToDate: 'watcher',
    ContentUncertain: 'watcher-immutable',
    RestartAbandoned: 'watcher-abandon',
    Debounce: 'watcher',
    Cooldown: 'watcher-cooldown',
    Window: 'watcher-window',
    Suspended: 'watcher-suspend',
    DryRun: 'watcher',
    SourceMissing: 'watcher-recreate-source',
    InProgress: 'watcher',
    RolloutInProgress: 'watcher-rollout',
    EvictionBlocked: 'watcher-budget',
    NewPodsNotAvailable: 'watcher-bad-content',
    Stalled: 'watcher',
  }),
];
