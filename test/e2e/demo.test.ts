import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { programDirectory } from '../../local-cluster/cache.ts';
import { runShell } from '../fixtures/kubectl-plugin.ts';
import { configurationFor, eventually, kubectl } from './kubectl.ts';

/** Runs it to its end. @returns what it printed. */
async function demo(flags: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const options = { timeout: 290_000, env };
  const { stdout } = await promisify(execFile)(process.execPath, ['hack/demo.ts', ...flags], options);
  return stdout;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the demo', () => {
  it('tells the main job to its end', { timeout: 320_000 }, async () => {
    // As on a user's cluster, from which it has to remove what it brought.
    const { ATWATCH_CLUSTER: _, ...env } = process.env;
    const stdout = await demo([], env);
    const saw = (pattern: RegExp) => assert.match(stdout, pattern);
    saw(/\$ kubectl get ats,pods\n.*\n.*example-at +2019-04-12T10:12:00Z +DONE +Succeeded/);
    saw(/\$ kubectl logs example-at-pod\nYAY\n/);
    saw(/\$ kubectl patch configmap webapp-config /);
    saw(/\$ curl webapp:8080\nGreets from your smooth operator!/);
    saw(/Everything that the demo brought is gone/);
    assert.equal(await kubectl(['get', 'namespace', 'atwatch-demo', '--ignore-not-found']), '');
  });

  it('leaves an operator at work with its namespace selected where it is told to keep them', {
    timeout: 600_000,
  }, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-kept-'));
    const env = {
      ...process.env,
      KUBECONFIG: await configurationFor(directory, 'default'),
      // Its own notes, so that it ends no operator of the user's, beside the programs that are there.
      ATWATCH_CACHE: directory,
      KUBEBUILDER_ASSETS: process.env.KUBEBUILDER_ASSETS ?? programDirectory(),
    };
    t.after(async () => {
      await demo(['--end-kept'], env);
      await kubectl(['delete', 'namespace', 'atwatch-demo', '--ignore-not-found', '--wait=false']);
      await rm(directory, { recursive: true, force: true });
    });
    assert.match(await demo(['--keep'], env), /and the namespace atwatch-demo is selected\.$/m);
    const pid = Number(await readFile(join(directory, 'demo-operator.pid'), 'utf8'));
    assert.ok(isRunning(pid));
    const { code, output } = await runShell(
      'kubectl at now --name kept -- echo still here && kubectl at wait kept --timeout 100s && kubectl at logs kept',
      { KUBECONFIG: env.KUBECONFIG },
    );
    assert.deepEqual([code, output.trimEnd().split('\n').at(-1)], [0, 'still here'], output);
    await demo(['--end-kept'], env);
    await eventually('the kept operator to end', async () => !isRunning(pid), 30_000);
  });
});
