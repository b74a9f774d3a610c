/**
 * Helm's command line: `node hack/helm/main.ts ARGUMENT...` is `helm ARGUMENT...` of the version in go.mod, with
 * the cluster that KUBECONFIG names, else the local one if it is up.
 *
 * With --build alone it only sees to it that there is one, and says if there can be none, which leaves the tests of the
 * chart out. In continuous integration (CI=true) that is a failure: such lines are not read there.
 */
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { Interruption, startCommand } from '../../local-cluster/foreground.ts';
import { kubectlEnvironment } from '../../local-cluster/kubectl.ts';
import { findLocalCluster, localKubeconfig, namesForeignCluster } from '../../local-cluster/local-cluster.ts';
import { findHelm, whyNoHelm } from './program.ts';

/** Much of helm needs no cluster, so none is no error yet. */
async function environment(): Promise<NodeJS.ProcessEnv> {
  const local = namesForeignCluster() ? undefined : await findLocalCluster();
  return local === undefined ? process.env : kubectlEnvironment(localKubeconfig(), local.directory);
}

try {
  process.exitCode = await Interruption.during(async (interruption) => {
    const args = process.argv.slice(2);
    const onlyBuild = args.join() === '--build';
    const reason = onlyBuild ? whyNoHelm() : undefined;
    if (reason !== undefined) {
      const leftOut = process.env.CI !== 'true';
      console.error(`${leftOut ? 'the tests of the chart are left out: ' : ''}${reason}`);
      return leftOut ? 0 : 1;
    }
    const helm = await findHelm(interruption.signal);
    return onlyBuild ? 0 : interruption.attend(startCommand([helm, ...args], await environment()));
  });
} catch (error) {
  console.error(error instanceof ClusterError ? error.message : error);
  process.exitCode = 1;
}
