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

export class ReturningPods {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #end = new AbortController();
  /** Of the Pods that this one has made, the names of those that they replace. */
  readonly #replaced = new Map<string, string>();
  /** By name of a Pod that has gone, or of a Deployment: the replacement is Ready. */
  readonly #back = new Map<string, PromiseWithResolvers<void>>();
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
        if (type === 'DELETED' && !byControllers) returning.#replace(object);
      }
    })().catch((error: unknown) => returning.#fail(error));
    return returning;
  }

  /** @throws what kept it from bringing a Pod back. */
  stop(): void {
    this.#end.abort();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when another Pod is Ready in the place of this one, or the next one of this Deployment. */
  back(name: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#place(name).promise;
  }

  #place(name: string): PromiseWithResolvers<void> {
    const place = this.#back.get(name) ?? Promise.withResolvers<void>();
    this.#back.set(name, place);
    return place;
  }

  #fail(error: unknown): void {
    if (this.#end.signal.aborted) return;
    this.#failure ??= error;
    for (const place of this.#back.values()) place.reject(this.#failure);
  }

  #begin({ metadata: { name, labels = {} } }: Pod): void {
    const start = async () => {
      await sleep(startup);
      await this.#ready(name);
      this.#place(this.#replaced.get(name) ?? labels.deployment ?? '').resolve();
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
