/** At, when its operator is stopped (SIGSTOP: a debugger, a frozen container) over the time at which it is due. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';
import { ats } from '../../src/api/resources.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

interface World {
  readonly rig: AtRig;
  /** One more operator process. Resolves when it says that it is ready. */
  start(name: string, ...flags: string[]): Promise<OperatorProcess>;
}

async function world(t: TestContext): Promise<World> {
  const rig = await AtRig.create(t);
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-stopped-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return {
    rig,
    async start(name, ...flags) {
      const operator = await startOperator(process.env.KUBECONFIG ?? '', join(directory, name), {
        flags: [`--namespaces=${rig.namespace}`, ...flags],
        env: { POD_NAMESPACE: rig.namespace },
      });
      t.after(() => {
        // A stopped process cannot end: whatever happens, it goes on before the test waits for its end.
        operator.process.kill('SIGCONT');
        return operator.stop();
      });
      return operator;
    },
  };
}

/** Stops the process while an At waits for its time. */
function stopBeforeDue({ rig }: World, { process }: OperatorProcess): Promise<{ name: string; due: number }> {
  return rig.createWaiting(
    () => process.kill('SIGSTOP'),
    () => process.kill('SIGCONT'),
  );
}

describe('At, whose operator is stopped over the due time', { concurrency: true }, () => {
  it('is launched once when it goes on, late, and says so', async (t) => {
    const here = await world(t);
    const operator = await here.start('operator');
    const { name, due } = await stopBeforeDue(here, operator);
    const { rig } = here;
    await eventually(() => Date.now() > due + 6000, { timeout: 150_000, message: 'the At is overdue' });
    assert.equal(await rig.isPodGone(`${name}-pod`), true);
    operator.process.kill('SIGCONT');
    const { status } = await rig.inPhase('RUNNING', name);
    assert.ok((status?.latenessMilliseconds ?? 0) >= 6000);
    assert.equal(status?.podUID, (await rig.pod(`${name}-pod`)).metadata.uid);
    assert.ok(await rig.isLaunchToldLate(name));
  });

  it('is launched by the standby, once: the leader that goes on writes nothing', {
    timeout: 240_000,
  }, async (t) => {
    const here = await world(t);
    const { rig } = here;
    const created = await rig.watchPods(t);
    const leader = await here.start('leader', '--leader-elect');
    const isLeading = async () => (await leader.lastLines(100)).includes('"msg":"leading"');
    await eventually(isLeading, { message: 'the first process leads' });
    const standby = await here.start('standby', '--leader-elect');
    const { name, due } = await stopBeforeDue(here, leader);
    const { status } = await rig.inPhase('RUNNING', name, 120_000);
    assert.ok(parseTime(status?.launchTime ?? '') >= due);
    assert.match(await standby.lastLines(100), /"msg":"leading"/);
    // The last that the standby writes of a Pod that finds no node.
    const before = await rig.atWhen(
      'known to wait for a node',
      (at) => at.status?.reason === 'Unschedulable',
      name,
    );
    leader.process.kill('SIGCONT');
    assert.deepEqual(await leader.ended, { code: 1, signal: null });
    assert.match(await leader.lastLines(5), /lost the leader lease/);
    assert.equal((await rig.at(name)).metadata.resourceVersion, before.metadata.resourceVersion);
    await rig.exit(0, `${name}-pod`);
    assert.equal((await rig.inPhase('DONE', name)).status?.outcome, 'Succeeded');
    const { items } = await rig.client.list(ats, { namespace: rig.namespace });
    assert.equal(created.size, items.length, 'one Pod for each At');
  });
});
