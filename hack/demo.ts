/**
 * The demo: both kinds at work on the cluster of KUBECONFIG, told as a transcript. `make demo` starts that
 * cluster first and removes it afterwards.
 *
 * Flags: --keep leaves the demo's objects and CRDs behind, an operator that runs, and its namespace selected in KUBECONFIG.
 * --end-kept ends the operator that --keep has left behind, and does nothing else.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endKeptOperator, keepOperator, keptLog } from './demo/kept-operator.ts';
import { command, narrate, output, step, waitFor } from './demo/transcript.ts';
import { startOperator } from './operator-process.ts';

const namespace = 'atwatch-demo';
const keep = process.argv.includes('--keep');
const started = performance.now();

endKeptOperator();
if (process.argv.includes('--end-kept')) process.exit(0);

const kubeconfig = process.env.KUBECONFIG;
if (!kubeconfig) {
  console.error('KUBECONFIG is not set: run `make demo`, or set it to try the demo on a cluster of yours');
  process.exit(2);
}

/** Runs the bundled kubectl in the demo's namespace and resolves with what it printed. */
async function kubectl(...args: string[]): Promise<string> {
  return await run(process.execPath, ['local-cluster/main.ts', 'kubectl', ...args]);
}

function run(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(out.trimEnd());
      else reject(new Error(`${args.slice(1).join(' ')} failed:\n${err.trim() || out.trim()}`));
    });
  });
}

/** Shows a kubectl command and what it printed. */
async function show(...args: string[]): Promise<string> {
  command(`kubectl ${args.map((arg) => (/[ "{}]/.test(arg) ? `'${arg}'` : arg)).join(' ')}`);
  const text = await kubectl(...args);
  output(text);
  return text;
}

const directory = await mkdtemp(join(tmpdir(), 'atwatch-demo-'));
process.env.KUBECONFIG = join(directory, 'kubeconfig');
await writeFile(process.env.KUBECONFIG, await readFile(kubeconfig), { mode: 0o600 });

// Only what the demo brought goes away again: CRDs that were there may hold a user's objects.
let broughtCrds = false;

async function prepare(): Promise<void> {
  step('Install the CRDs');
  broughtCrds = (await kubectl('get', '-k', 'crds', '--ignore-not-found', '--output=name')) === '';
  await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait', '--timeout=50s');
  await kubectl('create', 'namespace', namespace);
  await kubectl('config', 'set-context', '--current', `--namespace=${namespace}`);
  await show('apply', '--server-side', '-k', 'crds');
  const crds = await kubectl('get', '-k', 'crds', '--output=name');
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', ...crds.split('\n'));
  await waitFor('the default ServiceAccount', async () => {
    await kubectl('get', 'serviceaccount', 'default');
    return true;
  });
}

async function runAt(): Promise<void> {
  step('At: run a command at a time');
  narrate('The schedule of the sample is long past, so it runs at once.');
  await show('apply', '-f', 'config/samples/cnat_v1alpha1_at.yaml');
  await kubectl('wait', '--for=jsonpath={.status.phase}=DONE', '--timeout=50s', 'at/example-at');
  await show('get', 'ats,pods');
  await show('logs', 'example-at-pod');
}

/** What the web app answers, fetched through the API server's service proxy. */
async function fetchMessage(): Promise<string> {
  return await kubectl('get', '--raw', `/api/v1/namespaces/${namespace}/services/webapp:http/proxy/`);
}

async function runConfigWatcher(): Promise<void> {
  step('ConfigWatcher: restart the Pods that use a ConfigMap when its content changes');
  await show('apply', '-f', 'config/samples/webapp.yaml');
  await show('apply', '-f', 'config/samples/k8spatterns_v1_configwatcher.yaml');
  await kubectl('wait', '--for=condition=Ready', '--timeout=50s', 'cw/webapp-config-watcher');
  await kubectl('rollout', 'status', 'deployment/webapp', '--timeout=50s');
  await show('get', 'cw');
  await show('get', 'pods', '--selector=app=webapp');
  const before = await kubectl('get', 'pods', '--selector=app=webapp', '--output=name');
  command('curl webapp:8080');
  output(await waitFor('the web app to answer', fetchMessage));

  narrate(
    'Now the ConfigMap changes. Environment variables never follow by themselves; the watcher sees to it.',
  );
  const message = 'Greets from your smooth operator!';
  await show('patch', 'configmap', 'webapp-config', '--patch', JSON.stringify({ data: { message } }));
  const served = await waitFor('the restarted Pod to serve the new text', async () => {
    const text = await fetchMessage();
    return text.includes(message) ? text : undefined;
  });
  await kubectl('wait', '--for=delete', '--timeout=50s', before);
  await waitFor('the watcher to be done', async () => {
    const pending = await kubectl('get', 'cw/webapp-config-watcher', '--output=jsonpath={.status.pending}');
    return pending === '';
  });
  command('curl webapp:8080');
  output(served);
  await show('get', 'pods', '--selector=app=webapp');
  await show('get', 'cw');
  await show('events', '--for=configwatcher/webapp-config-watcher');
}

async function cleanUp(): Promise<void> {
  step('Clean up');
  // Set by `local-cluster run` for a cluster of its own, which goes with all that is in it.
  if (process.env.ATWATCH_CLUSTER) {
    console.log('The cluster goes, with all that is in it.');
    return;
  }
  await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait', '--timeout=50s');
  if (broughtCrds) await kubectl('delete', '--ignore-not-found', '-k', 'crds', '--timeout=150s');
  console.log('Everything that the demo brought is gone.');
}

/** Leaves the cluster to the user. */
async function handOver(path: string): Promise<void> {
  step('Yours to play with');
  keepOperator(path);
  await kubectl(`--kubeconfig=${path}`, 'config', 'set-context', '--current', `--namespace=${namespace}`);
  console.log(`The operator runs, with its log in ${keptLog}, and the namespace ${namespace} is selected.`);
  console.log(
    'Try: make kubectl ARGS="get ats,cw", or docs/quick-start.md. make cluster-down ends all of it.',
  );
}

let operator: Awaited<ReturnType<typeof startOperator>> | undefined;
let failed = false;
try {
  await prepare();
  step('Start the operator');
  command('node dist/atwatch.js');
  operator = await startOperator(process.env.KUBECONFIG, join(directory, 'operator.log'));
  output(await operator.lastLines(3));
  await runAt();
  await runConfigWatcher();
  narrate(`That took ${((performance.now() - started) / 1000).toFixed(0)} s.`);
} catch (error) {
  failed = true;
  console.error(`\nThe demo stopped: ${error instanceof Error ? error.message : error}`);
  if (operator) console.error(`The operator's last lines:\n${await operator.lastLines(15)}`);
} finally {
  await operator?.stop();
  if (!keep) await cleanUp();
  else if (!failed) await handOver(kubeconfig);
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
