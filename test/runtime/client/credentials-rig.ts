/**
 * What tests of credentials have in common: a server that checks them over TLS, a folder of files, a log.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { createAuthority } from '../../../local-cluster/pki.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import type { CompleteCluster, CompleteUser } from '../../../src/runtime/client/kubeconfig-entries.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { FakeClock } from '../../fake/clock.ts';
import { connectTo } from '../../fake/connection.ts';

export const minute = 60_000;
export const authority = await createAuthority('ca');
const serving = await authority.issue({ name: 'server', hosts: ['127.0.0.1', 'api.internal'] });

export class CredentialsRig {
  readonly directory = mkdtempSync(join(tmpdir(), 'credentials-'));
  readonly clock = new FakeClock();
  readonly server: FakeApiServer;
  /** The Authorization headers that the server lets in; undefined: anything. */
  accepted: string | undefined;
  /** Common names of the client certificates, in the order of the requests. */
  readonly peers: (string | undefined)[];
  readonly logged: string[] = [];
  readonly log: Logger = {
    ...silentLogger,
    info: (...args: unknown[]) => this.logged.push(`info: ${args.at(-1)}`),
    warn: (...args: unknown[]) => this.logged.push(`warn: ${args.at(-1)}`),
  };

  private constructor(server: FakeApiServer, peers: (string | undefined)[]) {
    this.server = server;
    this.peers = peers;
  }

  static async start(): Promise<CredentialsRig> {
    const peers: (string | undefined)[] = [];
    const rig: CredentialsRig = new CredentialsRig(
      await FakeApiServer.start({
        tls: { key: serving.key, cert: serving.certificate, clientCa: authority.certificate },
        authenticate: ({ headers, socket }: IncomingMessage) => {
          if (socket instanceof TLSSocket) peers.push(socket.getPeerCertificate().subject?.CN?.toString());
          return rig.accepted === undefined || headers.authorization === rig.accepted;
        },
      }),
      peers,
    );
    return rig;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.directory, { recursive: true });
  }

  file(name: string, content: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, content);
    return path;
  }

  kubeConfig(user: Omit<CompleteUser, 'name'> = {}, cluster: Partial<CompleteCluster> = {}): KubeConfig {
    const config = new KubeConfig();
    const trusted = {
      name: 'c',
      server: this.server.url,
      skipTLSVerify: false,
      caFile: this.file('ca.crt', authority.certificate),
    };
    config.loadFromClusterAndUser({ ...trusted, ...cluster }, { name: 'u', ...user });
    return config;
  }

  client(config: KubeConfig): Client {
    return connectTo(this.server, { kubeConfig: config, clock: this.clock, log: this.log }).client;
  }
}
