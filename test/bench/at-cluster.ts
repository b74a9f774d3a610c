/**
 * Cluster for the At benchmark: what it writes into its API server, and waits for. What a kubelet would report,
 * the benchmark writes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../local-cluster/control-plane.ts';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { type KubernetesObject, type Pod, pods, type Resource } from '../../src/kubernetes/objects.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import type { RawList } from '../../src/runtime/client/paged-list.ts';
import { collectionPath, withQuery } from '../../src/runtime/client/resource-path.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { BenchApiServer } from './bench-api-server.ts';

const concurrency = 24;
export class BenchCluster {
  readonly plane: ControlPlane;
  readonly client: Client;
  readonly #server: BenchApiServer;

  private constructor(server: BenchApiServer) {
    this.plane = server.plane;
    this.client = server.client;
    this.#server = server;
  }

  static async start(): Promise<BenchCluster> {
    const cluster = new BenchCluster(await BenchApiServer.start());
    await cluster.#served();
    return cluster;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  namespace(name: string): Promise<string> {
    return this.#server.namespace(name);
  }

  /** `at-0`, `at-1` … of the namespace, at the instants that `scheduleOf` tells. */
  async createAts(namespace: string, count: number, scheduleOf: (index: number) => number): Promise<void> {
    await inParallel(count, concurrency, async (index) => {
      await this.client.create(ats, {
        metadata: { namespace, name: atName(index) },
        spec: { schedule: new Date(scheduleOf(index)).toISOString(), command: 'echo YAY' },
      });
    });
  }

  async atsOf(namespace: string): Promise<readonly At[]> {
    return (await this.client.list(ats, { namespace })).items;
  }

  async podsOf(namespace: string): Promise<readonly Pod[]> {
    return (await this.client.list(pods, { namespace })).items;
  }

  /** Resolves when the operator has accepted every At of the namespace. */
  async untilAccepted(namespace: string): Promise<void> {
    while (await this.#hasNew(namespace)) await sleep(2000);
  }

  /** Reads on only while it finds none: all pages of a hundred thousand take a busy API server minutes. */
  async #hasNew(namespace: string): Promise<boolean> {
    let token: string | undefined;
    do {
      const query = { limit: 500, ...(token ? { continue: token } : {}) };
      const page = (await this.client.getRaw(
        withQuery(collectionPath(ats, namespace), query),
      )) as RawList<At>;
      if (page.items?.some(({ status }) => (status?.observedGeneration ?? -1) < 0)) return true;
      token = page.metadata?.continue;
    } while (token);
    return false;
  }

  /** Resolves when the namespace has no such At any more. Asks seldom, and for one of them only. */
  async untilNone(namespace: string, fieldSelector: string): Promise<void> {
    const path = withQuery(collectionPath(ats, namespace), { fieldSelector, limit: 1 });
    while (((await this.client.getRaw(path)) as { items: unknown[] }).items.length > 0) await sleep(500);
  }

  /** Plays the kubelet: every Pod of the namespace has run its command. */
  async endPods(namespace: string): Promise<void> {
    const all = await this.podsOf(namespace);
    await inParallel(all.length, concurrency, (index) => this.endPod(all[index] as Pod));
  }

  async endPod({ metadata: { namespace = '', name }, spec }: Pod): Promise<void> {
    const time = `${new Date().toISOString().slice(0, 19)}Z`;
    const state = { terminated: { exitCode: 0, reason: 'Completed', startedAt: time, finishedAt: time } };
    const { name: container = '', image = '' } = spec.containers[0] ?? {};
    const main = { name: container, image, imageID: '', ready: false, restartCount: 0, state };
    const body = { status: { phase: 'Succeeded' as const, startTime: time, containerStatuses: [main] } };
    await this.client.patchStatus(pods, { namespace, name }, { type: 'merge', body });
  }

  /** Away with all Ats and Pods of a namespace: there is no garbage collector. */
  async empty(namespace: string): Promise<void> {
    await this.#deleteAll(ats, namespace, await this.atsOf(namespace));
    await this.#deleteAll(pods, namespace, await this.podsOf(namespace));
  }

  async #deleteAll(resource: Resource, namespace: string, all: readonly KubernetesObject[]): Promise<void> {
    await inParallel(all.length, concurrency, async (index) => {
      const name = all[index]?.metadata.name ?? '';
      await this.client.delete(resource, { namespace, name }, { gracePeriodSeconds: 0 });
    });
  }

  /** A new CRD is served a moment after it was created. */
  async #served(): Promise<void> {
    for (;;) {
      try {
        await this.client.list(ats);
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await sleep(100);
      }
    }
  }
}

export function atName(index: number): string {
  return `at-${index}`;
}
