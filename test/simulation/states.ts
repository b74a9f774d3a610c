/** States: what an object may be in, as the rows of the coverage table name it. */
import type { Feature } from './plan/features.ts';

export interface ExpectedState {
  readonly row: string;
  /** What a plan needs for any object of the kind. */
  readonly feature: Feature;
}

const ofAt = [
  ...['New', 'Armed', 'Suspended', 'PodRejected', 'PodNameConflict', 'CreateFailed', 'InvalidCommand'].map(
    (reason) => `At PENDING ${reason}`,
  ),
  ...['Launched', 'SchedulingGated', 'ImagePullBackOff', 'Unschedulable', 'Stopping'].map(
    (reason) => `At RUNNING ${reason}`,
  ),
  ...['Succeeded', 'Failed', 'Missed', 'Canceled'].map((outcome) => `At DONE ${outcome}`),
];
const ofWatcher = [
  ...['New', 'UpToDate', 'Debounce', 'Cooldown', 'Window', 'Suspended', 'DryRun', 'SourceMissing'],
  ...['InProgress', 'RolloutInProgress', 'EvictionBlocked', 'NewPodsNotAvailable', 'Stalled'],
].map((reason) => `ConfigWatcher ${reason}`);

export const states: readonly ExpectedState[] = [
  ...ofAt.map((row) => ({ row, feature: 'at' as const })),
  ...ofWatcher.map((row) => ({ row, feature: 'watcher' as const })),
];
