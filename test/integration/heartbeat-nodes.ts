/**
 * Nodes without a kubelet, for one test alone. All that the node controller hears of one is its heartbeat, which is the
 * test's.
 */
import type { TestContext } from 'node:test';
import { nodes, type Taint, type Toleration } from '../../src/kubernetes/types/core.generated.ts';
import type { Client } from '../../src/runtime/client/client.ts';

/** The node controller misses one after 50 s. */
const heartbeatMs = 10_000;
const zoneLabel = 'topology.kubernetes.io/zone';

export class HeartbeatNodes {
  /** What a Pod needs to be scheduled on one of them. */
  readonly placement: {
    readonly nodeSelector: Readonly<Record<string, string>>;
    readonly tolerations: readonly Toleration[];
  };
  readonly #client: Client;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #taint: Taint;
  readonly #alive = new Set<string>();

  constructor(t: Pick<TestContext, 'after'>, client: Client, namespace: string) {
    this.#client = client;
    // In a zone of their own: where all nodes of a zone are lost, the node controller evicts nothing.
    this.#labels = { 'topology.kubernetes.io/region': namespace, [zoneLabel]: namespace };
    this.#taint = { key: 'example.com/test', value: namespace, effect: 'NoSchedule' };
    this.placement = { nodeSelector: { [zoneLabel]: namespace }, tolerations: [this.#taint] };
    const beats = setInterval(() => void this.#beat().catch(() => {}), heartbeatMs);
    t.after(() => clearInterval(beats));
    t.after(() => client.deleteCollection(nodes, { labelSelector: `${zoneLabel}=${namespace}` }));
  }

  async add(name: string): Promise<void> {
    const metadata = { name, labels: { ...this.#labels, 'kubernetes.io/hostname': name } };
    await this.#client.create(nodes, { metadata, spec: { taints: [this.#taint] } });
    const resources = { pods: '10', cpu: '1', memory: '1Gi' };
    const body = { status: { allocatable: resources, capacity: resources } };
    await this.#client.patchStatus(nodes, { name }, { type: 'merge', body });
    await this.revive(name);
  }

  isAlive(name: string): boolean {
    return this.#alive.has(name);
  }

  silence(name: string): void {
    this.#alive.delete(name);
  }

  async revive(name: string): Promise<void> {
    this.#alive.add(name);
    await this.#beat();
  }

  async #beat(): Promise<void> {
    const lastHeartbeatTime = new Date().toISOString();
    const body = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } };
    for (const name of this.#alive) {
      await this.#client.patchStatus(nodes, { name }, { type: 'merge', body });
    }
  }
}
