/**
 * Makes the programs that check manifests, so that no test has to wait for that.
 *
 * What this machine cannot make is left out of the checks, with one line that says why. In continuous integration
 * (CI=true) that is a failure: such lines are not read there.
 */
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { buildChecks, installCheckov, NoProgramsError } from './programs.ts';

for (const make of [buildChecks, installCheckov]) {
  try {
    await make();
  } catch (error) {
    if (!(error instanceof NoProgramsError || error instanceof ClusterError)) throw error;
    const leftOut = error instanceof NoProgramsError && process.env.CI !== 'true';
    console.error(`${leftOut ? 'checks of the manifests are left out: ' : ''}${error.message}`);
    if (!leftOut) process.exitCode = 1;
  }
}
