/** The operator under end-to-end test: the bundle, as its users run it, with its log in a temporary folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';

export interface OperatorUnderTest {
  /** Starts it again after a kill. */
  start(): Promise<void>;
  /** SIGKILL; resolves when it is dead. */
  kill(): Promise<void>;
  /** Stops it for good and removes its log. */
  remove(): Promise<void>;
}

/**
 * @param flags of the operator.
 * @param env added to this process's, such as POD_NAMESPACE, where its Lease is.
 */
export async function operatorUnderTest(
  flags: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<OperatorUnderTest> {
  const kubeconfig = process.env.KUBECONFIG;
  if (!kubeconfig) throw new Error('KUBECONFIG is not set: run these tests with `make test-e2e`');
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-e2e-'));
  const log = join(directory, 'operator.log');
  let running: OperatorProcess = await startOperator(kubeconfig, log, { flags, env });
  return {
    async start() {
      running = await startOperator(kubeconfig, log, { flags, env });
    },
    async kill() {
      running.process.kill('SIGKILL');
      await running.ended;
    },
    async remove() {
      await running.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
