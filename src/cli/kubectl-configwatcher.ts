/** The program kubectl-configwatcher, which kubectl runs as `kubectl configwatcher`. Touches the process; the rest is in program.ts. */
import packageJson from '../../package.json' with { type: 'json' };
import { nodeVersionProblem } from '../node-version.ts';

const problem = nodeVersionProblem(process.versions.node, packageJson.engines.node);
if (problem === undefined) {
  // Loaded only now, so that an older Node.js gets as far as the sentence.
  const { runAsProcess } = await import('./program/process-host.ts');
  const { kubectlConfigWatcher } = await import('./configwatcher/program.ts');
  await runAsProcess(kubectlConfigWatcher, process);
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
