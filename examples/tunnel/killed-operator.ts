/**
 * The life of one Service under an operator that is disturbed at one write of its own: killed right after it, or kept
 * from hearing that it was done. For tests; what it tells is how many machines there are in the end.
 */
import assert from 'node:assert/strict';
import { createManager, hasFinalizer, type Manager } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { services } from '@atwatch/runtime/types/core';
import { finalizer, loadBalancerClass, machineOf } from './decide.ts';
import type { Machines } from './machines.ts';

/** `killed`: right after the write. `unheard`: the write is done, its answer is lost. */
export type Disturbance = 'killed' | 'unheard';

export interface Life {
  /** The operator's own writes, to the API server and to the provider, in their order. */
  readonly writes: readonly string[];
  /** Machines when the Service is gone and all is quiet. */
  readonly lost: number;
  /** Machines that were made in all. */
  readonly made: number;
  /** Machines that were made while no finalizer told of them. */
  readonly unrecorded: number;
}

export const key = { namespace: 'default', name: 'hello' };
export const address = '192.0.2.1';
export const service = {
  metadata: key,
  spec: { type: 'LoadBalancer', loadBalancerClass, ports: [{ port: 80 }] },
};
const user = 'system:serviceaccount:tunnel-system:tunnel-operator';

export interface LifeOptions {
  /** The same seed gives the same life up to the disturbance. Default 1. */
  readonly seed?: number;
  /** Which of the operator's writes is disturbed, from 1. Default 0: none. */
  readonly nth?: number;
  readonly disturbance?: Disturbance;
}

/** @param addController what the operator consists of. */
export async function liveThrough(
  addController: (manager: Manager, machines: Machines, image: string) => void,
  { seed = 1, nth = 0, disturbance = 'killed' }: LifeOptions = {},
): Promise<Life> {
  const cluster = new TestCluster({ seed });
  const writes: string[] = [];
  const machines = new Set<string>();
  const count = { made: 0, unrecorded: 0 };
  const isTheOne = (write: string) => writes.push(write) === nth;
  const { api } = cluster.cluster;
  // Of the operator alone: neither a user's writes, nor those of other controllers, nor the Lease.
  const isOwn = (request: { user: string; method: string; path: string }) =>
    request.user === user && request.method !== 'GET' && !/\/leases|\/events/.test(request.path);
  const told = (write: string) => {
    if (!isTheOne(write)) return;
    if (disturbance === 'killed') replica.process?.kill();
    else throw new Error('socket hang up');
  };
  const provider: Machines = {
    ensure: async (name) => {
      const of = cluster.list(services).find((one) => machineOf(one) === name);
      if (!of || !hasFinalizer(of, finalizer)) count.unrecorded++;
      if (!machines.has(name)) count.made++;
      machines.add(name);
      told('PUT machine');
      return address;
    },
    remove: async (name) => {
      machines.delete(name);
      told('DELETE machine');
    },
  };
  if (disturbance === 'killed') {
    api.onRequest((request) => {
      if (isOwn(request)) told(`${request.method} ${request.path}`);
    });
  } else {
    api.intercept = (request) =>
      isOwn(request) && isTheOne(`${request.method} ${request.path}`)
        ? { kind: 'cut', when: 'after' }
        : undefined;
  }
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'tunnel-operator', leaderElection: true, ...options });
      addController(manager, provider, 'tunnel:1');
      return manager;
    },
    { user, restartAfter: 1000 },
  );
  cluster.create(services, service);
  const addressOf = () => cluster.find(services, key)?.status?.loadBalancer?.ingress?.[0]?.ip;
  await cluster.until(() => addressOf() === address);
  cluster.delete(services, key);
  await cluster.until(() => cluster.find(services, key) === undefined);
  await cluster.pass(60_000);
  assert.ok(writes.length >= nth, `there are ${writes.length} writes only`);
  assert.equal(replica.ends.length, nth > 0 && disturbance === 'killed' ? 1 : 0);
  return { writes, lost: machines.size, ...count };
}
