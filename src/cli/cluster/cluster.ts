/**
 * Cluster: the API server that the kubeconfig and the flags name, for the few requests of a command. No leader
 * election, no gate, no metrics; what the server warns of is shown as kubectl shows it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Client } from '../../runtime/client/client.ts';
import { connect } from '../../runtime/client/connect.ts';
import { KubeConfigError } from '../../runtime/client/kubeconfig-entries.ts';
import { loadKubeConfig } from '../../runtime/client/load-kubeconfig.ts';
import { openGate } from '../../runtime/client/write-gate.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { ServerClock } from '../../runtime/server-clock.ts';
import { styleOf } from '../output/style.ts';
import type { Call } from '../program/command.ts';
import type { Host, Output } from '../program/host.ts';

export interface Cluster {
  readonly client: Client;
  /** Of the flag, else of the kubeconfig's context. */
  readonly namespace: string;
  /** The API server's time, once it has answered: what "now" means to the operator. */
  readonly clock: ServerClock;
  readonly server: URL;
}

/** At a time; a list of Ats asks for the end of as many logs. */
const maxRequests = 16;
/** Under which name the API server records what is written. */
export const fieldManager = 'kubectl-atwatch';

/** Connects with the first request, and closes everything at the end. @throws {KubeConfigError} */
export async function withCluster<R>(call: Call, use: (cluster: Cluster) => Promise<R>): Promise<R> {
  const { host } = call;
  const kubeConfig = kubeConfigOf(call);
  const connection = connect({
    kubeConfig,
    gate: openGate,
    clock: host.clock,
    log: warningsTo(host.errors, host.env),
    userAgent: `kubectl-atwatch/${call.program.version}`,
    fieldManager,
    maxRequests,
    requestTimeouts: { write: 30_000 },
    // A single client needs no jitter.
    random: () => 0.5,
  });
  const clock = new ServerClock(host.clock);
  connection.onAnswer((answer) => clock.observe(answer));
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  try {
    return await use({
      client: connection.client,
      clock,
      server: connection.server,
      namespace: call.value('namespace') ?? context?.namespace ?? 'default',
    });
  } finally {
    connection.close();
  }
}

function kubeConfigOf(call: Call): KubeConfig {
  const { env } = call.host;
  const KUBECONFIG = call.value('kubeconfig') ?? env.KUBECONFIG ?? ownFile(env);
  const kubeConfig = loadKubeConfig({ env: { ...env, KUBECONFIG } });
  const context = call.value('context');
  if (context !== undefined) {
    if (kubeConfig.getContextObject(context) === null) {
      const known = kubeConfig.getContexts().map(({ name }) => name);
      throw new KubeConfigError(`the kubeconfig has no context "${context}", but ${known.join(', ')}`);
    }
    kubeConfig.setCurrentContext(context);
  }
  const impersonateUser = call.value('as');
  if (impersonateUser !== undefined) {
    kubeConfig.users = kubeConfig.users.map((user) => ({ ...user, impersonateUser }));
  }
  return kubeConfig;
}

/** As kubectl, which looks there before it takes itself for a Pod. */
function ownFile(env: Host['env']): string | undefined {
  const home = env.HOME ?? env.USERPROFILE;
  const file = home === undefined ? undefined : join(home, '.kube', 'config');
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** A logger of which only the API server's warnings are seen. */
function warningsTo(errors: Output, env: Host['env']): Logger {
  const style = styleOf(errors, env);
  return {
    ...silentLogger,
    warn(fields: object | string) {
      const warning = typeof fields === 'object' && 'warning' in fields ? fields.warning : undefined;
      if (warning !== undefined) errors.write(`${style.warn('Warning:')} ${warning}\n`);
    },
  };
}
