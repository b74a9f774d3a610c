/**
 * The public entry of the runtime, `@atwatch/runtime`: everything an operator for another kind is built of,
 * and no more. What is not named here may change at any time. docs/runtime.md explains it.
 *
 * It stands beside src/runtime/ and not inside, because it also offers what src/api/ knows about objects of
 * any kind; nothing of this project's own kinds is behind it.
 */

// biome-ignore-start lint/performance/noBarrelFile: the one deliberate entry for other packages; nothing in src imports it.
export type { KubeConfig } from '@kubernetes/client-node';
export {
  findCondition,
  isConditionTrue,
  type NewCondition,
  removeCondition,
  setCondition,
} from './kubernetes/conditions.ts';
export { formatDuration, parseDuration } from './kubernetes/duration.ts';
export { fit, type Schema, statusSchema } from './kubernetes/fit.ts';
export {
  apiVersionOf,
  type Condition,
  type ConfigMap,
  type Container,
  type ContainerState,
  type ContainerStateTerminated,
  type ContainerStatus,
  configMaps,
  controllerOf,
  type EnvFromSource,
  type EnvVar,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type OwnerReference,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodSpec,
  type PodStatus,
  type ProjectedVolumeSource,
  pods,
  type Resource,
  type SecurityContext,
  type Volume,
  type VolumeItems,
} from './kubernetes/objects.ts';
export {
  AlreadyOwnedError,
  controllerRef,
  isControlledBy,
  setControllerReference,
} from './kubernetes/owner.ts';
export { printable } from './kubernetes/printable.ts';
export {
  isLabelSelector,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  labelMatcher,
  labelRequirements,
  labelSelectorText,
  printLabelSelector,
  selects,
} from './kubernetes/selector.ts';
export {
  type DateAndTime,
  earliest,
  firstInstant,
  formatMilliTime,
  formatTime,
  lastInstant,
  parseTime,
  utcMilliseconds,
} from './kubernetes/time.ts';
export type {
  Informer,
  InformerHandler,
  InformerOptions,
  MetadataInformerOptions,
} from './runtime/cache/informer.ts';
export type { Informers } from './runtime/cache/informers.ts';
export type { IndexFunction, Lister, ListFilter } from './runtime/cache/lister.ts';
export { findPresence, type Presence } from './runtime/cache/presence.ts';
export type { ReflectorProblem } from './runtime/cache/reflector-problem.ts';
export { compareResourceVersions } from './runtime/cache/resource-version.ts';
export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isProvenNotFound,
  isTooManyRequests,
  reworded,
  TransportError,
} from './runtime/client/api-error.ts';
export type { CallOptions, WriteOptions } from './runtime/client/call-options.ts';
export type {
  ApplyOptions,
  Client,
  DeleteCollectionOptions,
  DeleteOptions,
  ListOptions,
  ListResult,
  MetadataOnly,
  ObjectKey,
  Page,
  PageOptions,
  SelectorOptions,
  Status,
  WatchCallOptions,
  WatchEvent,
} from './runtime/client/client.ts';
export { type Connection, type ConnectOptions, connect } from './runtime/client/connect.ts';
export {
  discover,
  findServed,
  NotServedError,
  resourceFor,
  type ServedResource,
} from './runtime/client/discovery.ts';
export { finalizerPatch, hasFinalizer } from './runtime/client/finalizer.ts';
export type { OpenConnection } from './runtime/client/http-connection.ts';
export { KubeConfigError } from './runtime/client/kubeconfig-entries.ts';
export { type KubeConfigSources, loadKubeConfig } from './runtime/client/load-kubeconfig.ts';
export type { PartialObjectMetadata, Whole } from './runtime/client/partial-object.ts';
export {
  type Applied,
  type ApplyPatch,
  applyPatch,
  type DeepPartial,
  type JsonPatch,
  type JsonPatchOperation,
  type MergeBody,
  type Merged,
  type MergePatch,
  type NewObject,
  type Patch,
  type PatchOf,
  type StatusBody,
  type StatusOf,
  type StatusPatchOf,
  statusPatch,
} from './runtime/client/patch.ts';
export type { RequestTimeouts } from './runtime/client/request-timeouts.ts';
export { isStatusError } from './runtime/client/response-error.ts';
export type {
  Scale,
  SubresourceClient,
  SubresourceQuery,
  SubresourceReadOptions,
} from './runtime/client/subresource-client.ts';
export { openGate, type WriteGate } from './runtime/client/write-gate.ts';
export type { WriteListener, Written } from './runtime/client/written.ts';
export { type Clock, sleep, stopwatch, systemClock, type Timer } from './runtime/clock.ts';
export { ClockProbe, type ClockProbeOptions } from './runtime/clock-probe.ts';
export {
  type BuilderHost,
  type ControllerBuilder,
  type ControllerHost,
  controllerManagedBy,
  type Host,
  type WatchOptions,
} from './runtime/controller/builder.ts';
export type { Controller, ControllerOptions } from './runtime/controller/controller.ts';
export { type Decider, DecidingReconciler } from './runtime/controller/deciding-reconciler.ts';
export type { Answer, Decision, EffectList, Question } from './runtime/controller/decision.ts';
export {
  type EventHandler,
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMap,
  type ObjectEvent,
} from './runtime/controller/event-handler.ts';
export {
  and,
  annotationChanged,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from './runtime/controller/predicate.ts';
export {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  RetryError,
  type RetryErrorOptions,
  requestFor,
  requestKey,
  requestOfKey,
  TerminalError,
} from './runtime/controller/reconciler.ts';
export { Rewrites } from './runtime/controller/rewrites.ts';
export type { Runnable } from './runtime/controller/runnable.ts';
export {
  type Enqueue,
  type EnqueueOptions,
  initialListPriority,
  type PriorityFunction,
  type Source,
} from './runtime/controller/source.ts';
export type {
  LeaseDiagnostic,
  ReconcileEvent,
  RequestEvent,
  SpanEvent,
  WatchDiagnostic,
} from './runtime/diagnostics.ts';
export { describeError, errorText } from './runtime/error-chain.ts';
export type { EventRecord, EventRecorder } from './runtime/events/event-recorder.ts';
export type { HealthCheck, HealthCheckOptions } from './runtime/health/health-checks.ts';
export { LeadershipLostError } from './runtime/leader/leader-elector.ts';
export { holderOf, type Lease, type LeaseSpec, leases } from './runtime/leader/lease.ts';
export { type Durations, defaultRequestTimeouts, stalenessLimit } from './runtime/limits.ts';
export { errorFields, type Logger, type LogMethod, silentLogger } from './runtime/logger.ts';
export { type CreateManagerOptions, createManager } from './runtime/manager/create-manager.ts';
export { Manager } from './runtime/manager/manager.ts';
export { ManagerError } from './runtime/manager/manager-error.ts';
export type { LeaderElectionOptions, ManagerOptions } from './runtime/manager/manager-options.ts';
export type { ProbesOptions, SecureMetrics } from './runtime/manager/probes.ts';
export { type HostProcess, runManager } from './runtime/manager/run-manager.ts';
export type { StartupOptions } from './runtime/manager/startup.ts';
export { traceWith } from './runtime/open-telemetry.ts';
export type { OpenTelemetryApi, TraceSpan } from './runtime/open-telemetry-api.ts';
export { Pace } from './runtime/pace.ts';
export type { AddOptions } from './runtime/queue/add-options.ts';
export {
  ExponentialBackoff,
  type ExponentialBackoffOptions,
  type RateLimiter,
} from './runtime/queue/rate-limiter.ts';
export { type Randomness, systemRandomness } from './runtime/randomness.ts';
export { type AnswerTime, ServerClock, type TimeBounds } from './runtime/server-clock.ts';
// biome-ignore-end lint/performance/noBarrelFile: the one deliberate entry ends here.
