/**
 * Support for the integration tests: the cluster that KUBECONFIG names, a namespace per test, the CRDs,
 * and waiting with a limit.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { ApiError, isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Connection, type ConnectOptions, connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { customResourceDefinitions, namespaces } from '../fixtures/cluster-resources.ts';

export interface TestCluster {
  readonly client: Client;
  readonly connection: Connection;
  readonly kubeConfig: KubeConfig;
}

let shared: TestCluster | undefined;

/** The cluster that the tests run on. @throws when KUBECONFIG is not set: no test may pick one by itself. */
export function testKubeConfig(): KubeConfig {
  if (!process.env.KUBECONFIG) {
    throw new Error(
      'integration tests need a cluster: run `make test-integration`, or set KUBECONFIG to one you can spare',
    );
  }
  return loadKubeConfig({ env: process.env });
}

export type TestConnectionOptions = Pick<
  Partial<ConnectOptions>,
  'gate' | 'kubeConfig' | 'log' | 'maxRequests' | 'requestTimeouts'
>;

/** A connection of its own, for a test that closes or counts it. */
export function newConnection(options: TestConnectionOptions = {}): Connection {
  return connect({
    kubeConfig: options.kubeConfig ?? testKubeConfig(),
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test',
    fieldManager: 'atwatch-test',
    ...options,
  });
}

/** One connection per test file. Its idle sockets do not keep the process alive. */
export function connectToTestCluster(): TestCluster {
  if (shared === undefined) {
    const connection = newConnection();
    shared = { client: connection.client, connection, kubeConfig: testKubeConfig() };
  }
  return shared;
}

/** For the option `skip` of a test: why it is left out on an API server before 1.`minor`, or false. */
export async function skipBefore(minor: number, why: string): Promise<string | false> {
  const version = (await connectToTestCluster().client.getRaw('/version')) as { readonly minor: string };
  // Some providers write 31+.
  return Number.parseInt(version.minor, 10) < minor && `before Kubernetes 1.${minor} ${why}`;
}

/** For the option `skip` of a test: why it is left out where the API server streams no lists, or false. */
export async function skipWithoutStreams(): Promise<string | false> {
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1';
  return await connectToTestCluster()
    .client.getRaw(`/api/v1/namespaces/default/configmaps?${query}&allowWatchBookmarks=true`, {
      text: true,
    })
    .then(
      () => false,
      (error) => {
        if (error instanceof ApiError && error.code === 422) return 'this API server streams no lists';
        throw error;
      },
    );
}

/** A namespace with a random name, deleted when the test ends. */
export async function withNamespace(t: Pick<TestContext, 'after'>): Promise<string> {
  const { name, remove } = await createNamespace();
  t.after(remove);
  return name;
}

/** A namespace with a random name for a whole suite, whose `after` hook calls `remove`. */
export async function createNamespace(): Promise<{ name: string; remove: () => Promise<void> }> {
  const { client } = connectToTestCluster();
  const name = `test-${randomBytes(5).toString('hex')}`;
  await client.create(namespaces, { metadata: { name } });
  const remove = async () => {
    try {
      await client.delete(namespaces, { name }, { propagationPolicy: 'Background' });
    } catch (error) {
      // A test may be about its end.
      if (!isNotFound(error)) throw error;
    }
  };
  return { name, remove };
}

/** Applies the CRDs of crds/ and waits until the API server serves them. May run in parallel. */
export async function applyCrds(folder = 'crds'): Promise<void> {
  const { client } = connectToTestCluster();
  for (const file of (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name))) {
    for (const document of parseAllDocuments(await readFile(`${folder}/${file}`, 'utf8'))) {
      const body: KubernetesObject = document.toJS();
      if (body?.kind === customResourceDefinitions.kind) await applyCrd(client, body);
    }
  }
}

/** Applies one CRD and waits until it is served. */
export async function applyCrd(client: Client, body: KubernetesObject): Promise<void> {
  const key = { name: body.metadata.name };
  const patch = { type: 'apply', body, fieldManager: 'atwatch-test', force: true } as const;
  await client.patch(customResourceDefinitions, key, patch);
  await eventually(
    async () => {
      const { status } = await client.get(customResourceDefinitions, key);
      return (
        status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true
      );
    },
    { message: `the CRD ${key.name} is established` },
  );
}

export interface EventuallyOptions {
  /** Milliseconds; default 30 000: only a test that is going to fail waits so long. */
  readonly timeout?: number;
  /** Milliseconds between two tries; default 50. */
  readonly interval?: number;
  /** What is waited for, for the error. */
  readonly message?: string;
}

/**
 * Calls `probe` until it returns something other than undefined or false, and returns that. A rejection
 * counts as "not yet"; the last one is the cause of the error when the time is over.
 */
export async function eventually<R>(
  probe: () => R | Promise<R>,
  { timeout = 30_000, interval = 50, message = 'the condition holds' }: EventuallyOptions = {},
): Promise<Exclude<Awaited<R>, undefined | false>> {
  const end = performance.now() + timeout;
  let cause: unknown;
  for (;;) {
    try {
      const result = await probe();
      if (result !== undefined && result !== false) {
        return result as Exclude<Awaited<R>, undefined | false>;
      }
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end) throw new Error(`not within ${timeout / 1000} s: ${message}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

/** True when the object is not there. */
export async function isGone(
  client: Client,
  resource: Resource,
  namespace: string,
  name: string,
): Promise<boolean> {
  try {
    await client.get(resource, { namespace, name });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
