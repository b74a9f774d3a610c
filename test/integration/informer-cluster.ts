/**
 * Informer cluster: informers on a real API server, a record of what they were told, and a check that they
 * hold what it has.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { type ConfigMap, configMaps, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Informer } from '../../src/runtime/cache/informer.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Connection, connect } from '../../src/runtime/client/connect.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { TcpProxy } from '../fake/tcp-proxy.ts';

/** What handlers know, and what they were told that cannot be. */
export class Audience<T extends KubernetesObject> {
  readonly known = new Map<string, T>();
  readonly contradictions: string[] = [];
  initialAdds = 0;
  updates = 0;

  constructor(informer: Informer<T>) {
    informer.addHandler({
      onAdd: (object, initial) => {
        if (initial) this.initialAdds++;
        if (this.known.has(object.metadata.name))
          this.contradictions.push(`add ${object.metadata.name} twice`);
        this.known.set(object.metadata.name, object);
      },
      onUpdate: (previous, object) => {
        this.updates++;
        if (this.known.get(object.metadata.name) !== previous) {
          this.contradictions.push(`update ${object.metadata.name} from something else`);
        }
        this.known.set(object.metadata.name, object);
      },
      onDelete: ({ metadata }) => {
        if (this.known.get(metadata.name)?.metadata.uid !== metadata.uid) {
          this.contradictions.push(`delete ${metadata.name}, which is another`);
        }
        this.known.delete(metadata.name);
      },
    });
  }
}

/** `name uid resourceVersion`, sorted. */
export function versions(objects: Iterable<KubernetesObject>): string[] {
  return [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort();
}

/** Readers and handlers have what a fresh list has, and were told each change once. */
export async function assertSameAsServer(
  client: Client,
  namespace: string,
  informer: Informer<ConfigMap>,
  audience: Audience<ConfigMap>,
): Promise<void> {
  const { items } = await client.list(configMaps, { namespace });
  assert.deepEqual(versions(informer.lister.list(namespace)), versions(items), 'readers');
  assert.deepEqual(versions(audience.known.values()), versions(items), 'handlers');
  assert.deepEqual(audience.contradictions, []);
}

/** Informers on these namespaces that stop with the test; own writes through the connection are shown. */
export function informersOn(
  t: Pick<TestContext, 'after'>,
  connection: Connection,
  namespaces: readonly string[],
): { readonly informers: Informers; readonly signal: AbortSignal } {
  const controller = new AbortController();
  t.after(() => controller.abort(new Error('the test has ended')));
  const informers = new Informers({
    client: connection.client,
    clock: systemClock,
    log: silentLogger,
    namespaces,
  });
  connection.onWrite((resource, written) => informers.observeWrite(resource, written));
  return { informers, signal: controller.signal };
}

/** A connection by way of a proxy; both end with the test. */
export async function connectByProxy(
  t: Pick<TestContext, 'after'>,
  kubeConfig: KubeConfig,
): Promise<{ readonly connection: Connection; readonly proxy: TcpProxy }> {
  const cluster = kubeConfig.getCurrentCluster();
  const user = kubeConfig.getCurrentUser();
  assert.ok(cluster && user);
  const proxy = await TcpProxy.start(cluster.server);
  kubeConfig.loadFromClusterAndUser({ ...cluster, server: proxy.url }, user);
  const connection = connect({
    kubeConfig,
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test-informer',
    fieldManager: 'atwatch-test',
  });
  t.after(async () => {
    connection.close();
    await proxy.stop();
  });
  return { connection, proxy };
}
