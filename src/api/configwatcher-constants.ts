/**
 * The words of the ConfigWatcher API that are no fields: condition types, reasons, the keys of annotations.
 * Users match on them, so none is ever renamed.
 */
import type { ConfigWatcherStatusPendingReason } from './configwatcher.generated.ts';

export const watcherCondition = {
  /** The watcher works. False only for an invalid spec, a missing right or a missing required source. */
  ready: 'Ready',
  sourceAvailable: 'SourceAvailable',
  podsMatched: 'PodsMatched',
  /** A change waits or Pods are being restarted. */
  progressing: 'Progressing',
  /** Set only when True: a restart makes no progress, or the spec cannot be followed. */
  stalled: 'Stalled',
} as const;

/** Reasons of conditions. */
export const watcherReason = {
  watching: 'Watching',
  invalidSpec: 'InvalidSpec',
  forbidden: 'Forbidden',
  sourceMissing: 'SourceMissing',
  sourcesFound: 'SourcesFound',
  podsMatched: 'PodsMatched',
  noPodsMatched: 'NoPodsMatched',
  upToDate: 'UpToDate',
  /** An immutable source was replaced under its name, and Pods of before are left. */
  contentUncertain: 'ContentUncertain',
  /** What a restart was for is not watched any more. */
  restartAbandoned: 'RestartAbandoned',
  paused: 'Paused',
  onDelete: 'OnDelete',
  reverted: 'Reverted',
  progressDeadlineExceeded: 'ProgressDeadlineExceeded',
  /** The new content breaks its Pods, or they do not get Ready in time. */
  newPodsNotAvailable: 'NewPodsNotAvailable',
  unschedulable: 'Unschedulable',
  nodeLost: 'NodeLost',
  podsMissing: 'PodsMissing',
  evictionBlocked: 'EvictionBlocked',
} as const;

/** What a pending change waits for, `status.pending.reason`. */
export const pendingReason = {
  debounce: 'Debounce',
  cooldown: 'Cooldown',
  window: 'Window',
  suspended: 'Suspended',
  dryRun: 'DryRun',
  sourceMissing: 'SourceMissing',
  inProgress: 'InProgress',
  rolloutInProgress: 'RolloutInProgress',
  evictionBlocked: 'EvictionBlocked',
  stalled: 'Stalled',
} as const satisfies Record<string, ConfigWatcherStatusPendingReason>;

/** How an owner fares in a restart, `status.lastRestart.owners[].reason`, where it is not stuck. */
export const ownerReason = {
  available: 'Available',
  inProgress: 'InProgress',
  rolloutInProgress: 'RolloutInProgress',
  evictionBlocked: 'EvictionBlocked',
  refused: 'Refused',
  /** Of all the owners that have no room in status together. */
  notShown: 'NotShown',
} as const;

/** Reasons of Events about a ConfigWatcher. */
export const watcherEvent = {
  changeDetected: 'ChangeDetected',
  restartStarted: 'RestartStarted',
  restartCompleted: 'RestartCompleted',
  restartStalled: 'RestartStalled',
  /** The spec was edited so that it does not watch any more what the restart under way is for. */
  restartAbandoned: 'RestartAbandoned',
  evictionBlocked: 'EvictionBlocked',
  sourceMissing: 'SourceMissing',
  sourceRestored: 'SourceRestored',
  noPodsMatched: 'NoPodsMatched',
  unmanagedPodSkipped: 'UnmanagedPodSkipped',
  immutableSource: 'ImmutableSource',
  cooldownActive: 'CooldownActive',
  /** restart-now was asked for while nothing was pending. */
  nothingPending: 'NothingPending',
  /** Strategy Auto can only evict, because a right is missing or not kept in bounds. */
  autoEvicts: 'AutoEvicts',
  invalidSpec: 'InvalidSpec',
  /** A CRD without the status subresource is installed. */
  statusUnavailable: 'StatusUnavailable',
} as const;

/** Reason of the Event about each restarted owner; its note names the watcher. */
export const configRestartEvent = 'ConfigRestart';

export const watcherAnnotation = {
  /** State of a watcher whose CRD has no /status, and of a ConfigMap in annotation mode. */
  observed: 'k8spatterns.io/observed',
  /** On a watcher: each new value lets what is pending begin at once. */
  restartNow: 'k8spatterns.io/restart-now',
  /** On a ConfigMap, annotation mode: the label selector of the Pods to delete. Either key. */
  podDeleteSelector: 'k8spatterns.io/podDeleteSelector',
  podDeleteSelectorCom: 'k8spatterns.com/podDeleteSelector',
} as const;

/** On a Deployment, StatefulSet or DaemonSet that asks for restarts itself. */
export const workloadAnnotation = {
  /** `referenced`, or a list such as `configmap/a, secret/b`. */
  restartOnChange: 'k8spatterns.io/restart-on-change',
  /** JSON with further fields of the spec of its ConfigWatcher. */
  restartOptions: 'k8spatterns.io/restart-options',
} as const;

/** What Reloader reads on a ConfigMap or Secret; honored with --reloader-annotations. */
export const reloaderSourceAnnotation = {
  match: 'reloader.stakater.com/match',
  ignore: 'reloader.stakater.com/ignore',
} as const;

/** Reasons of Events about a workload that asks for restarts itself. */
export const workloadEvent = {
  /** An annotation cannot be followed, or the API server refuses what follows from it. */
  invalidAnnotation: 'InvalidRestartAnnotation',
  /** The API server does not let the operator make the ConfigWatcher: a right, a policy or a quota. */
  forbidden: 'Forbidden',
  /** It asks for restarts, and there is nothing to watch. */
  nothingToWatch: 'NothingToWatch',
  /** The name of its ConfigWatcher is taken. */
  configWatcherExists: 'ConfigWatcherExists',
  /** An annotation of Reloader has no equivalent here. */
  reloaderAnnotation: 'ReloaderAnnotation',
} as const;
