/** The reconciler of workloads that ask for restarts themselves: reads from the stores, decides, writes. */
import type { ConfigWatcher } from '../api/configwatcher.generated.ts';
import { workloadEvent } from '../api/configwatcher-constants.ts';
import type { KubernetesObject, Resource } from '../kubernetes/objects.ts';
import type { Lister } from '../runtime/cache/lister.ts';
import {
  ApiError,
  isConflict,
  isForbidden,
  isInvalid,
  isProvenNotFound,
} from '../runtime/client/api-error.ts';
import type { Client } from '../runtime/client/client.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  requestKey,
} from '../runtime/controller/reconciler.ts';
import { Rewrites } from '../runtime/controller/rewrites.ts';
import { errorText } from '../runtime/error-chain.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import { type Action, decide, type Found, type Warning } from './decide/decide.ts';
import { subjectOf } from './facts/watched-workloads.ts';
import { type PresentSources, remarkOnKind } from './plan/reloader.ts';
import { watcherName } from './plan/watcher.ts';
import type { Modes, Workload } from './plan/workload.ts';

/** A kind that is watched, and the copy of it. */
export interface Watched<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
}

export interface WorkloadReconcilerOptions {
  readonly client: Client;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly recorder: EventRecorder;
  readonly modes: Modes;
  readonly secretAccess: boolean;
  readonly workloads: readonly Watched<Workload>[];
  /** Kinds that get no ConfigWatcher, which an Event reports. */
  readonly others: readonly Watched<KubernetesObject>[];
  /** In the group that they are made in. */
  readonly watchers: Watched<ConfigWatcher>;
  readonly presentIn: (namespace: string) => PresentSources;
}

export class WorkloadReconciler implements Reconciler {
  readonly #options: WorkloadReconcilerOptions;
  /** The last Warning about each object. One that is still true is recorded again only by a new process. */
  readonly #warned = new Map<string, string>();
  /** Of two active replicas, one may have an older view of a workload, and would undo what the other one does. */
  readonly #rewrites = new Rewrites();

  constructor(options: WorkloadReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    const { kind, name } = subjectOf(request);
    const { namespace } = request;
    const watched = this.#options.workloads.find(({ resource }) => resource.kind === kind);
    const workload = watched?.lister.get(namespace, name);
    if (!watched || !workload) {
      this.#remark(request, context);
      return {};
    }
    const { resource } = watched;
    const found = this.#found(resource, namespace, name);
    const { action, warning } = decide(workload, found);
    const requeueAfter = action ? this.#waitFor(action, found, workload) : 0;
    if (requeueAfter > 0) return { requeueAfter };
    let reported = warning;
    try {
      reported = (action && (await this.#perform(action, context))) ?? warning;
      if (action) this.#written(action, found, workload);
    } catch (error) {
      // No edit of the workload mends that, so it is tried again.
      if (isForbidden(error)) reported = { reason: workloadEvent.forbidden, message: errorText(error) };
      throw error;
    } finally {
      this.#warn(request, resource, workload, reported, context);
    }
    return {};
  }

  /** Milliseconds. */
  #waitFor(action: Action, { watcher }: Found, { metadata: { uid = '' } }: Workload): number {
    const now = this.#options.clock.monotonic();
    return this.#rewrites.wait(uid, watcher?.spec, wantedBy(action), now);
  }

  #written(action: Action, { watcher }: Found, { metadata: { uid = '' } }: Workload): void {
    const now = this.#options.clock.monotonic();
    this.#rewrites.written(uid, watcher?.spec, wantedBy(action), now);
  }

  #found(resource: Resource, namespace: string, name: string): Found {
    const { modes, secretAccess, watchers, presentIn } = this.#options;
    return {
      ...modes,
      ...{ resource, secretAccess, present: presentIn(namespace) },
      watcher: watchers.lister.get(namespace, watcherName(resource.kind, name)),
    };
  }

  /** About a kind that gets no ConfigWatcher, or a workload that is gone. */
  #remark(request: Request, context: ReconcileContext): void {
    const { kind, name } = subjectOf(request);
    const other = this.#options.others.find(({ resource }) => resource.kind === kind);
    const object = other?.lister.get(request.namespace, name);
    const message = object && remarkOnKind(kind, object.metadata.annotations);
    if (!other || !object || message === undefined) this.#warned.delete(requestKey(request));
    else
      this.#warn(
        request,
        other.resource,
        object,
        { reason: workloadEvent.reloaderAnnotation, message },
        context,
      );
  }

  #warn(
    request: Request,
    resource: Resource,
    object: KubernetesObject,
    warning: Warning | undefined,
    { log }: ReconcileContext,
  ): void {
    const key = requestKey(request);
    const text = warning && `${warning.reason}: ${warning.message}`;
    if (this.#warned.get(key) === text) return;
    if (warning === undefined || text === undefined) {
      this.#warned.delete(key);
      return;
    }
    this.#warned.set(key, text);
    log.warn({ reason: warning.reason }, warning.message);
    const { reason, message: note } = warning;
    this.#options.recorder.record(resource, object, {
      type: 'Warning',
      reason,
      action: 'WatchConfiguration',
      note,
    });
  }

  /**
   * Resolves with what the API server has against it, where that is for the author of the workload to mend.
   *
   * @throws for everything that may be over at the next try: what is there meanwhile is seen before it.
   */
  async #perform({ type, watcher }: Action, { log, signal }: ReconcileContext): Promise<Warning | undefined> {
    const { client, watchers } = this.#options;
    const { resource } = watchers;
    const { namespace = '', name, uid } = watcher.metadata;
    try {
      if (type === 'Create') await client.create(resource, watcher, { signal, fieldValidation: 'Strict' });
      else if (type === 'Update')
        await client.update(resource, watcher, { signal, fieldValidation: 'Strict' });
      else await client.delete(resource, { namespace, name }, { signal, ...(uid && { uid }) });
      log.info({ action: type, watcher: name, group: resource.group }, 'the workload asks for it');
      return undefined;
    } catch (error) {
      // Another one of its name, or none: an event shows it.
      if (type === 'Delete' && (isProvenNotFound(error) || isConflict(error))) return undefined;
      if (isRefused(error)) return { reason: workloadEvent.invalidAnnotation, message: error.message };
      throw error;
    }
  }
}

/** Undefined: no ConfigWatcher. */
function wantedBy({ type, watcher }: Action): ConfigWatcher['spec'] | undefined {
  return type === 'Delete' ? undefined : watcher.spec;
}

/** Whether the API server does not accept the spec, which an edit alone can mend. */
function isRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && (isInvalid(error) || error.code === 400);
}
