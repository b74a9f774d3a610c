/**
 * The command line, with real clusters.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { cacheDirectory } from '../../../local-cluster/cache.ts';
import { isAlive } from '../../../local-cluster/lock.ts';
import { whyNoNode } from '../../../local-cluster/node.ts';
import { waitFor } from '../../../local-cluster/wait.ts';

const main = join(import.meta.dirname, '..', '..', '..', 'local-cluster', 'main.ts');
const noNode = whyNoNode();

/** Without the cluster that the tests themselves may run with. */
function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { KUBECONFIG, ATWATCH_CLUSTER, ...env } = process.env;
  return { ...env, ...more };
}

function cli(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [main, ...args], {
    env: environment(env),
    encoding: 'utf8',
    timeout: 120_000,
  });
}

test('run passes the command’s exit code and output on, and gives it a cluster, kubectl and the audit log', () => {
  const script =
    'kubectl get ns default -o name && test -s "$ATWATCH_AUDIT_LOG" && echo "$KUBECONFIG"; exit 7';
  const { status, stdout } = cli(['run', '--audit', '--', 'sh', '-c', script]);
  assert.equal(status, 7);
  const [namespace, kubeconfig = ''] = stdout.split('\n');
  assert.equal(namespace, 'namespace/default');
  assert.ok(kubeconfig.endsWith('/kubeconfig'));
  assert.ok(!existsSync(dirname(kubeconfig)), 'nothing is left');
});

test('run uses the cluster that KUBECONFIG names and starts none', () => {
  const { status, stdout, stderr } = cli(['run', '--', 'sh', '-c', 'echo "$KUBECONFIG"'], {
    KUBECONFIG: '/some/where',
  });
  assert.deepEqual({ status, stdout }, { status: 0, stdout: '/some/where\n' });
  assert.equal(stderr, 'using the cluster of KUBECONFIG=/some/where\n');
});

const mistakes = [
  { args: ['run'], message: /no command after --/ },
  { args: ['run', '--nodes', '--', 'true'], message: /Unknown option '--nodes'/ },
  { args: ['upp'], message: /no command upp/ },
  { args: ['load', 'x'], message: /load takes an archive and a name/ },
];

for (const { args, message } of mistakes) {
  test(`${args.join(' ')} is refused in words`, () => {
    const { status, stderr } = cli(args);
    assert.equal(status, 1);
    assert.match(stderr, message);
    assert.ok(!stderr.includes('    at '), 'no stack');
  });
}

/**
 * Starts `run` with a command that tells its process id and its cluster's folder, and ignores SIGTERM; what it starts
 * in the background ignores SIGINT, as every shell arranges.
 */
async function startRun(t: TestContext, flags: readonly string[]) {
  const server = 'kubectl config view --minify -o jsonpath={.clusters[0].cluster.server}';
  const script = `trap "" TERM; echo $$ $ATWATCH_CLUSTER $(${server}); sleep 600 & wait`;
  const child = spawn(process.execPath, [main, 'run', ...flags, '--', 'sh', '-c', script], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => {
    child.kill('SIGKILL');
    child.stdout.destroy();
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value = '' } = await lines.next();
  const [pid, directory = '', address = ''] = value.split(' ');
  assert.ok(existsSync(directory));
  return { child, pid: Number(pid), directory, link: linkTo(address) };
}

function exit(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Processes of the machine that name the folder in their arguments. */
function processesOf(directory: string): string[] {
  const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(directory));
}

/** The interface of the machine that leads to a node; other nodes, of other tests, may come and go meanwhile. */
function linkTo(server: string): string | undefined {
  const [, index] = /^https:\/\/198\.18\.(\d+)\./.exec(server) ?? [];
  return index === undefined ? undefined : `/sys/class/net/atwatch${index}`;
}

function controlGroups(directory: string): string[] {
  const name = directory.slice(directory.lastIndexOf('/') + 1);
  const root = '/sys/fs/cgroup';
  const hierarchies = existsSync(root) ? ['.', ...readdirSync(root)] : [];
  return hierarchies.map((hierarchy) => join(root, hierarchy, name)).filter((group) => existsSync(group));
}

function assertNothingLeft(directory: string): void {
  assert.ok(!existsSync(directory));
  assert.deepEqual(processesOf(directory), []);
  assert.deepEqual(controlGroups(directory), []);
  assert.ok(!existsSync('/proc/mounts') || !readFileSync('/proc/mounts', 'utf8').includes(directory));
}

test('an interrupted run ends the command and the cluster, and says so by its exit code', async (t) => {
  const { child, pid, directory } = await startRun(t, []);
  // Not from a terminal, so it is passed on; the shell gives way to SIGINT.
  child.kill('SIGINT');
  assert.equal(await exit(child), 130);
  assert.ok(!isAlive(pid));
  assertNothingLeft(directory);
});

for (const flags of [[], ['--node']]) {
  const skip = flags.length > 0 && noNode !== undefined ? noNode : process.platform !== 'linux';
  test(`a killed run ${flags.join(' ')} leaves nothing, not even its command`, { skip }, async (t) => {
    const { child, pid, directory, link } = await startRun(t, flags);
    assert.equal(link !== undefined && existsSync(link), flags.length > 0);
    child.kill('SIGKILL');
    await waitFor({ what: 'the folder to go', limit: 60_000 }, async () => !existsSync(directory));
    // A process that was killed is there until init has heard of it.
    await waitFor({ what: 'the command to go', limit: 30_000 }, async () => !isAlive(pid));
    await waitFor({ what: 'the network to go', limit: 30_000 }, async () => !(link && existsSync(link)));
    assertNothingLeft(directory);
  });
}

test('up, kubectl and down; each may be repeated', (t) => {
  // A cache of its own, so that a local cluster that is up now is not disturbed; the built programs are lent to it.
  const cache = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  const programs = readdirSync(cacheDirectory()).filter((name) => name.startsWith('kube-'));
  for (const name of programs) {
    symlinkSync(join(cacheDirectory(), name), join(cache, name));
  }
  const env = { ATWATCH_CACHE: cache };
  t.after(() => {
    cli(['down'], env);
    rmSync(cache, { recursive: true });
  });

  assert.match(cli(['kubectl', 'get', 'ns'], env).stderr, /the local cluster is not up/);
  assert.match(cli(['up'], env).stdout, /^The local cluster is up: https:/);
  assert.match(cli(['up'], env).stdout, /^The local cluster was up already: https:/);
  const kubeconfig = join(cache, 'kubeconfig');
  assert.equal(cli(['kubeconfig'], env).stdout, `${kubeconfig}\n`);
  assert.equal(cli(['kubectl', 'get', 'ns', 'default', '-o', 'name'], env).stdout, 'namespace/default\n');
  const exported = { ...env, KUBECONFIG: kubeconfig };
  assert.match(cli(['up'], exported).stdout, /was up already/);
  assert.equal(cli(['run', '--', 'kubectl', 'get', 'ns', 'default', '-o', 'name'], exported).status, 0);
  assert.match(
    cli(['up', '--node'], env).stderr,
    noNode === undefined ? /is up without a node/ : /a node needs/,
  );

  const { directory } = JSON.parse(readFileSync(join(cache, 'up.json'), 'utf8'));
  assert.match(cli(['down'], env).stdout, /^Stopped the local cluster/);
  assert.ok(!existsSync(directory));
  assert.ok(!existsSync(kubeconfig));
  assert.match(cli(['down'], env).stdout, /^No local cluster was up/);
  assert.match(cli(['run', '--', 'true'], exported).stderr, /not up, and KUBECONFIG names it/);
});
