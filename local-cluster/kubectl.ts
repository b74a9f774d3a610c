/**
 * kubectl, run for its output.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { testNetworks } from './network.ts';

/** In milliseconds; what may take longer has a --timeout of its own and is asked again. */
const limit = 300_000;

export interface KubectlCall {
  kubeconfig: string;
  /** The cluster's folder; kubectl keeps what it learned of the API there, not in the user's home. */
  directory: string;
  args: readonly string[];
  /** What it reads from its standard input. */
  input?: string | undefined;
}

/** Returns what kubectl printed; rejects with what it complained about. */
export async function runKubectl(
  path: string,
  { kubeconfig, directory, args, input }: KubectlCall,
): Promise<string> {
  const child = spawn(path, args, {
    env: kubectlEnvironment(kubeconfig, directory),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: limit,
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  const [output, complaint, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(new Error(`cannot run ${path}`, { cause })));
      child.once('close', resolve);
    }),
  ]);
  if (code !== 0) {
    throw new Error(`kubectl ${args.join(' ')}: ${complaint.trim() || `exit code ${code}`}`);
  }
  return output;
}

/** For kubectl and whatever else talks to one of our clusters: never through a proxy. */
export function kubectlEnvironment(kubeconfig: string, directory: string): NodeJS.ProcessEnv {
  const direct = [process.env.NO_PROXY ?? process.env.no_proxy, '127.0.0.1', testNetworks]
    .filter(Boolean)
    .join(',');
  return {
    ...process.env,
    NO_PROXY: direct,
    no_proxy: direct,
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: join(directory, 'kubectl-cache'),
  };
}
