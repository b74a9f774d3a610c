/**
 * API server of a benchmark: etcd and an API server alone, with an audit log, the CRDs and a client. Nothing
 * else may share the machine with what is measured: no scheduler, and no controllers but where they are waited for.
 */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Connection, connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { customResourceDefinitions, namespaces } from '../fixtures/cluster-resources.ts';

export class BenchApiServer {
  readonly plane: ControlPlane;
  readonly client: Client;
  readonly #connection: Connection;

  private constructor(plane: ControlPlane, options: { readonly maxRequests?: number }) {
    this.plane = plane;
    this.#connection = connect({
      // A load may send hundreds of writes at once, which wait for each other on a slow machine.
      requestTimeouts: { write: 60_000 },
      kubeConfig: loadKubeConfig({ env: { KUBECONFIG: plane.kubeconfig } }),
      ...{ gate: openGate, clock: systemClock, log: silentLogger },
      ...{ userAgent: 'bench', fieldManager: 'bench' },
      ...options,
    });
    this.client = this.#connection.client;
  }

  /** @param maxRequests of the benchmark's own client. */
  static async start({
    controllerManager = false,
    ...options
  }: {
    readonly maxRequests?: number;
    readonly controllerManager?: boolean;
  } = {}): Promise<BenchApiServer> {
    const plane = await startControlPlane({ auditLog: true, controllerManager, scheduler: false });
    const server = new BenchApiServer(plane, options);
    for (const file of ['ats', 'configwatchers']) {
      await server.client.create(
        customResourceDefinitions,
        parse(await readFile(`crds/${file}.yaml`, 'utf8')),
      );
    }
    return server;
  }

  async stop(): Promise<void> {
    this.#connection.close();
    await this.plane.stop();
  }

  async namespace(name: string): Promise<string> {
    await this.client.create(namespaces, { metadata: { name } });
    return name;
  }
}
