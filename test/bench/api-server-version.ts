/** API server version: the cluster's part of a benchmark's first line. */
import { connectToTestCluster } from '../integration/support.ts';

/** `; API server v1.36.3`, or nothing without a cluster in KUBECONFIG. */
export async function apiServerVersion(): Promise<string> {
  if (!process.env.KUBECONFIG) return '';
  const version = (await connectToTestCluster().client.getRaw('/version')) as { gitVersion: string };
  return `; API server ${version.gitVersion}`;
}
