/**
 * The command `atwatch release-pods`: frees the Pods that an uninstalled operator still holds, as the user of the
 * kubeconfig.
 */
import { releasePods } from './at/act/release-pods.ts';
import type { ReleasePodsConfig } from './config.ts';
import { parseTime } from './kubernetes/time.ts';
import { isForbidden } from './runtime/client/api-error.ts';
import type { Client } from './runtime/client/client.ts';
import { connect } from './runtime/client/connect.ts';
import { loadKubeConfig } from './runtime/client/load-kubeconfig.ts';
import { openGate } from './runtime/client/write-gate.ts';
import { systemClock } from './runtime/clock.ts';
import { leases } from './runtime/leader/lease.ts';
import { silentLogger } from './runtime/logger.ts';
import { ServerClock } from './runtime/server-clock.ts';

/** What the command needs of the process. */
export interface CommandHost {
  readonly env: NodeJS.Process['env'];
  readonly stdout: { write(text: string): unknown };
}

/**
 * @param version of this program, for the user agent.
 * @returns the exit code.
 * @throws {Error} with one sentence, when it cannot do its work.
 */
export async function runReleasePods(
  config: ReleasePodsConfig,
  version: string,
  { env, stdout }: CommandHost,
): Promise<number> {
  const print = (line: string) => void stdout.write(`${line}\n`);
  const clock = new ServerClock(systemClock);
  const connection = connect({
    ...{ kubeConfig: loadKubeConfig({ env }), gate: openGate, clock: systemClock, log: silentLogger },
    ...{ userAgent: `atwatch/${version}`, fieldManager: 'atwatch' },
  });
  connection.onAnswer((answer) => clock.observe(answer));
  try {
    if (!config.force) await assertNoOperator(connection.client, clock);
    return (await releasePods({ ...config, client: connection.client, print })) === 0 ? 0 : 1;
  } finally {
    connection.close();
  }
}

/** An operator that runs without election holds no Lease: that one is not seen. */
async function assertNoOperator(client: Client, clock: ServerClock): Promise<void> {
  const options = { fieldSelector: 'metadata.name=atwatch' };
  const found = await client.list(leases, options).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    const sentence = 'it is not known whether an operator still runs, because you may not list Leases';
    throw new Error(`${sentence}: if you have uninstalled it, add --force`, { cause: error });
  });
  const held = found.items.find(({ spec }) => {
    const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec ?? {};
    return holderIdentity !== '' && clock.now() < parseTime(renewTime) + leaseDurationSeconds * 1000;
  });
  if (held === undefined) return;
  const { namespace } = held.metadata;
  throw new Error(
    `an operator still runs and holds the Lease atwatch in the namespace ${namespace}: uninstall it first, or add --force`,
  );
}
