/**
 * Returning Pods: what stands in for the controllers and the kubelet of a namespace. Each Pod that goes is replaced at
 * once, and Ready a while after that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { inParallel } from '../fixtures/in-parallel.ts';

/** From the creation of a Pod until it is Ready, ms: a program that starts fast. */
const startup = 1000;

type Places = Map<string, PromiseWithResolvers<void>>;

function placeIn(places: Places, name: string): PromiseWithResolvers<void> {
  const place = places.get(name) ?? Promise.withResolvers<void>();
  places.set(name, place);
  return place;
}

function deploymentOf({ metadata: { labels = {} } }: Pod): string {
  return labels.deployment ?? '';
}

export class ReturningPods {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #end = new AbortController();
  /** Of the Pods that this one has made, the names of those that they replace. */
  readonly #replaced = new Map<string, string>();
  /** By name of a Pod that has gone, or of a Deployment: the replacement is Ready. */
  readonly #back: Places = new Map();
  /** By name of a Deployment: the Pod that it had is gone. */
  readonly #gone: Places = new Map();
  #created = 0;
  #failure: unknown;

  private constructor(client: Client, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /**
   * All Pods of the namespace are Ready when this resolves.
   *
   * @param byControllers whether controllers make new Pods, of Deployments that each Pod names in the label `deployment`.
   */
  static async start(client: Client, namespace: string, byControllers: boolean): Promise<ReturningPods> {
    const returning = new ReturningPods(client, namespace);
    const { items, resourceVersion } = await client.list(pods, { namespace });
    await inParallel(items.length, 32, async (index) => returning.#ready(items[index]?.metadata.name ?? ''));
    const options = { namespace, resourceVersion, timeoutSeconds: 600, signal: returning.#end.signal };
    const events = await client.watch(pods, options);
    void (async () => {
      for await (const { type, object } of events) {
        if (type === 'ADDED') returning.#begin(object);
        if (type !== 'DELETED') continue;
        if (byControllers) placeIn(returning.#gone, deploymentOf(object)).resolve();
        else returning.#replace(object);
      }
    })().catch((error: unknown) => returning.#fail(error));
    return returning;
  }

  /** @throws what kept it from bringing a Pod back. */
  stop(): void {
    this.#end.abort();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when another Pod is Ready in the place of this one. */
  back(name: string): Promise<void> {
    return this.#wait(this.#back, name);
  }

  /**
   * Resolves when the rollout of a Deployment of one Pod is over, as `kubectl rollout status` and the operator see it: the
   * next Pod is Ready, and the one before has gone, which without a kubelet takes no time once it is deleted.
   */
  async rolledOut(deployment: string): Promise<void> {
    await Promise.all([this.#wait(this.#back, deployment), this.#wait(this.#gone, deployment)]);
  }

  #wait(places: Places, name: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return placeIn(places, name).promise;
  }

  #fail(error: unknown): void {
    if (this.#end.signal.aborted) return;
    this.#failure ??= error;
    for (const place of [...this.#back.values(), ...this.#gone.values()]) place.reject(this.#failure);
  }

  #begin(pod: Pod): void {
    const { name } = pod.metadata;
    const start = async () => {
      await sleep(startup);
      await this.#ready(name);
      placeIn(this.#back, this.#replaced.get(name) ?? deploymentOf(pod)).resolve();
    };
    start().catch((error: unknown) => this.#fail(error));
  }

  #replace({ metadata, spec: { containers, nodeName = '' } }: Pod): void {
    const { labels = {}, ownerReferences = [] } = metadata;
    const name = `back-${this.#created++}`;
    this.#replaced.set(name, metadata.name);
    const pod = {
      metadata: { namespace: this.#namespace, name, labels, ownerReferences },
      spec: { containers, nodeName, terminationGracePeriodSeconds: 0 },
    };
    this.#client.create(pods, pod).catch((error: unknown) => this.#fail(error));
  }

  async #ready(name: string): Promise<void> {
    const key = { namespace: this.#namespace, name };
    const lastTransitionTime = new Date().toISOString();
    const conditions = ['ContainersReady', 'Ready'].map((type) => {
      return { type, status: 'True' as const, lastTransitionTime };
    });
    const body = { status: { phase: 'Running' as const, conditions } };
    await this.#client.patchStatus(pods, key, { type: 'merge', body });
  }
}
