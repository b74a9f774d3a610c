/**
 * OwnerReader: the controllers behind Pods, read only while a restart runs. Nothing is watched: how many
 * Pods a Deployment wants matters for the minutes of a restart and for no longer. A restart of many owners
 * looks at them many times a second, so what was read is good for a while.
 */
import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import { controllerOf, type OwnerReference, type Resource } from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';
import type { Client } from '../../runtime/client/client.ts';
import { selects } from '../plan/selector.ts';
import { deploymentNamedBy, withLeftBehind } from './left-behind.ts';
import { ifFound, withRight } from './missing-right.ts';
import type { OwnerFacts } from './observed.ts';
import { ageOf, behindGoodFor, goodFor, isRecent, maxAgeMs } from './owner-age.ts';
import type { PodFacts } from './pod-facts.ts';
import {
  deployments,
  podLabelsOf,
  podsOf,
  replicaSets,
  revisionOf,
  rolloutOf,
  transformWorkload,
  type Workload,
  wantedOf,
  workloadOf,
} from './workload.ts';

/** Unless it is known that the ReplicaSet has another owner, such as a Rollout of Argo, or none. */
function mayBeOfDeployment(replicaSet: Workload | undefined): boolean {
  return replicaSet === undefined || controllerOf(replicaSet)?.kind === deployments.kind;
}

interface OwnersRequest {
  readonly namespace: string;
  readonly pods: readonly Pick<PodFacts, 'controller'>[];
  /** Owners in the middle of a restart, which may have no Pod at the moment. */
  readonly places: readonly ConfigWatcherStatusPendingOwner[];
  readonly selector: LabelSelector;
  /** Name of the annotation by which this watcher restarts rollouts. */
  readonly annotation: string;
  /** Epoch ms. */
  readonly now: number;
  /** Epoch ms, by uid of the owner and for all of them: what was read earlier is too old. */
  readonly notBefore: ReadonlyMap<string, number>;
  readonly changedAt: number;
  /** What the annotation is by status, by uid of the owner: what was read of it without that may be too old. */
  readonly annotated?: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
  /** Milliseconds for which an earlier answer is good. */
  readonly maxAge: number;
  /** Deployments by name that are read before it is known that they own something. */
  readonly ahead: Map<string, Promise<Workload | undefined>>;
}

interface Remembered {
  /** Epoch ms. */
  readonly readAt: number;
  readonly workload: Workload | undefined;
}

/** undefined: a status without room lacks kind and name. Of a kind that is not understood here the Pods alone count. */
function referenceOf({ uid, kind, name }: ConfigWatcherStatusPendingOwner): OwnerReference | undefined {
  return kind === undefined || name === undefined ? undefined : { apiVersion: 'apps/v1', kind, name, uid };
}

export class OwnerReader {
  readonly #client: Client;
  /** What was read of owners in the last half minute, by uid, and when. */
  readonly #remembered = new Map<string, Remembered>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * The owners by uid of the Pods' own controllers, and those in the middle of a restart that have no Pod by their
   * own. One that is of another kind, gone, or replaced by another
   * of its name, is known by its reference alone.
   *
   * @throws {MissingRight} when one of them may not be read: how many Pods it wants, and whether it has a
   *   rollout, is then unknown, and must not be taken for "nothing of that sort".
   */
  async read(request: Omit<OwnersRequest, 'maxAge' | 'ahead'>): Promise<ReadonlyMap<string, OwnerFacts>> {
    const references = new Map(
      request.pods.flatMap(({ controller }) => (controller ? [[controller.uid, controller] as const] : [])),
    );
    for (const [uid, { readAt }] of this.#remembered) {
      if (!isRecent(readAt, request.now, maxAgeMs)) this.#remembered.delete(uid);
    }
    const ahead: OwnersRequest['ahead'] = new Map();
    const aged = { ...request, maxAge: goodFor(references.size), ahead };
    await this.#forgetRollingOut([...references.values()], aged);
    this.#forgetMiscounted(aged);
    this.#forgetUnchanged(aged);
    // ReplicaSets of one Deployment ask for it once.
    const parents = new Map<string, Promise<OwnerFacts>>();
    const entries = [...references.values()].map(async (reference) => {
      return [reference.uid, await this.#factsOf(reference, aged, parents)] as const;
    });
    const found = new Map(await Promise.all(entries));
    const present = new Set([...found.values()].map(({ reference }) => reference.uid));
    for (const place of request.places) {
      const reference = present.has(place.uid) ? undefined : referenceOf(place);
      if (reference) found.set(place.uid, await this.#factsOf(reference, aged, parents));
    }
    return withLeftBehind(found, request.places);
  }

  /** A ReplicaSet seen first may be of a rollout that its Deployment, as it is remembered, has not begun. */
  async #forgetRollingOut(references: readonly OwnerReference[], request: OwnersRequest): Promise<void> {
    const added = references.filter(
      (reference) => workloadOf(reference) === replicaSets && !this.#remembered.has(reference.uid),
    );
    const sets = await Promise.all(added.map((reference) => this.#get(replicaSets, reference, request)));
    for (const set of sets) this.#remembered.delete((set && controllerOf(set)?.uid) ?? '');
  }

  /** Where more Pods are remembered than are listed, some are gone since it was read, so that its count is too old. */
  #forgetMiscounted({ pods, places, selector, now }: OwnersRequest): void {
    const listed = Map.groupBy(pods, ({ controller }) => this.#topmost(controller?.uid ?? ''));
    for (const [uid, { length }] of listed) {
      const known = this.#remembered.get(uid);
      if (!known?.workload || isRecent(known.readAt, now, behindGoodFor(places.length))) continue;
      // Of Pods that the selector leaves out the list says nothing.
      const isCounted = selects(selector, known.workload.spec?.template?.metadata?.labels);
      if (isCounted && (podsOf(known.workload) ?? 0) > length) this.#remembered.delete(uid);
    }
  }

  /** Another process may have changed its template since it was read. */
  #forgetUnchanged({ annotation, annotated = new Map() }: OwnersRequest): void {
    for (const [uid, value] of annotated) {
      const { workload } = this.#remembered.get(uid) ?? {};
      if (workload?.spec?.template?.metadata?.annotations?.[annotation] !== value)
        this.#remembered.delete(uid);
    }
  }

  /** The owner of the controller, as far as it is remembered. */
  #topmost(uid: string): string {
    const { workload } = this.#remembered.get(uid) ?? {};
    return (workload && controllerOf(workload)?.uid) ?? uid;
  }

  async #factsOf(
    reference: OwnerReference,
    request: OwnersRequest,
    parents: Map<string, Promise<OwnerFacts>>,
  ): Promise<OwnerFacts> {
    const resource = workloadOf(reference);
    const object = resource && (await this.#get(resource, reference, request));
    if (!resource) return { reference, makesSelectedPods: false };
    if (!object) return { reference, makesSelectedPods: false, isGone: true };
    const parent = controllerOf(object);
    if (resource === replicaSets && parent) {
      const facts = parents.get(parent.uid) ?? this.#factsOf(parent, request, parents);
      parents.set(parent.uid, facts);
      const revision = revisionOf(object);
      return revision === undefined ? facts : { ...(await facts), revision };
    }
    const { minReadySeconds = 0 } = object.spec ?? {};
    const wanted = wantedOf(resource, object);
    return {
      reference,
      ...(wanted !== undefined && { wanted }),
      ...(minReadySeconds > 0 && { minReady: minReadySeconds * 1000 }),
      makesSelectedPods: selects(request.selector, podLabelsOf(resource, object)),
      ...rolloutOf(resource, object, request.annotation),
    };
  }

  async #get(
    resource: Resource<Workload>,
    reference: OwnerReference,
    request: OwnersRequest,
  ): Promise<Workload | undefined> {
    const { now, notBefore, changedAt } = request;
    const { uid } = reference;
    const known = this.#remembered.get(uid);
    const outdated = notBefore.get(uid) ?? Number.NEGATIVE_INFINITY;
    const isUsable = ({ readAt, workload }: Remembered) =>
      isRecent(readAt, now, ageOf(resource, workload, request)) && readAt > outdated && readAt >= changedAt;
    if (known && isUsable(known)) return known.workload;
    const reading = this.#read(resource, reference, request);
    if (resource === replicaSets && mayBeOfDeployment(known?.workload)) this.#readAhead(reference, request);
    const workload = await reading;
    this.#remembered.set(uid, { readAt: now, workload: workload && transformWorkload(workload) });
    return workload;
  }

  /**
   * Asks for the Deployment that the ReplicaSet's name speaks of together with the ReplicaSet, which alone tells
   * whether it belongs to it: a restart waits for one answer instead of two.
   */
  #readAhead({ name: replicaSet }: OwnerReference, { namespace, signal, ahead }: OwnersRequest): void {
    const name = deploymentNamedBy(replicaSet);
    if (name === undefined || ahead.has(name)) return;
    const get = this.#find(deployments, name, { namespace, signal });
    // It matters only where it turns out to be the owner.
    get.catch(() => {});
    ahead.set(name, get);
  }

  async #read(
    resource: Resource<Workload>,
    { name, uid }: OwnerReference,
    request: OwnersRequest,
  ): Promise<Workload | undefined> {
    const early = resource === deployments ? await request.ahead.get(name) : undefined;
    // One that was not there yet, or another one, may be older than what the ReplicaSet says.
    const object = early?.metadata.uid === uid ? early : await this.#find(resource, name, request);
    return object?.metadata.uid === uid ? object : undefined;
  }

  async #find(
    resource: Resource<Workload>,
    name: string,
    { namespace, signal }: Pick<OwnersRequest, 'namespace' | 'signal'>,
  ): Promise<Workload | undefined> {
    const get = this.#client.get(resource, { namespace, name }, { signal });
    return ifFound(withRight('get', resource.plural, get));
  }
}
