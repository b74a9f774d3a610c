/**
 * kill −9 of the real program after each write of an At's life, when the API server has answered and nobody
 * has seen the answer; a second process takes over. The writes are counted in a life without a kill. A kill
 * right before a write leaves what one after the write before it leaves, so that only the first has one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec, AtStatus } from '../../src/api/at.generated.ts';
import { pods } from '../../src/api/kubernetes.ts';
import { ats } from '../../src/api/resources.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

const killer = new URL('./at-killer.mjs', import.meta.url).href;
const program = new URL('../../dist/atwatch.js', import.meta.url).pathname;
const timeout = 120_000;
const farAway = '2100-01-01T00:00:00Z';

interface Life {
  /** As in `POST /api/v1/namespaces/…/pods`, over all processes. */
  readonly writes: readonly string[];
  readonly kills: number;
  /** uids of all Pods there ever were. */
  readonly podUids: readonly string[];
  /** The last one before the At was deleted. */
  readonly status: AtStatus;
}

/** Runs the operator until `end`, again after each kill; only the first process meets `killAt`. */
async function operate(namespace: string, killAt: string, end: AbortSignal, seen: { output: string }) {
  for (let first = true; !end.aborted; first = false) {
    const args = ['--import', killer, program, `--namespaces=${namespace}`, '--log-level=error'];
    const servers = ['--metrics-bind-address=0', '--health-probe-bind-address=0'];
    const env = { ...process.env, KILL_AT: first ? killAt : '' };
    const child = spawn(process.execPath, [...args, ...servers], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stop = () => child.kill('SIGKILL');
    end.addEventListener('abort', stop, { once: true });
    child.stderr.on('data', (data) => {
      seen.output += data;
    });
    await new Promise((resolve) => child.once('close', resolve));
    end.removeEventListener('abort', stop);
  }
}

/** What the user and the kubelet do, as far as the At and its Pod have come: one step. Undefined at the end. */
async function step(rig: AtRig, isTried: () => boolean): Promise<AtStatus | undefined> {
  const { spec, status } = await rig.at();
  if (spec.schedule === farAway && status?.observedGeneration === 1 && isTried()) {
    await rig.editAt({ schedule: '2019-04-12T10:12:00Z' });
  }
  if (status?.phase === 'RUNNING' && !spec.cancel) {
    // Canceled when the operator has seen the start: before that it would delete a Pod that no kubelet took.
    if (status.startTime !== undefined) await rig.editAt({ cancel: true });
    else if ((await rig.pod()).status?.phase !== 'Running') await rig.start();
  }
  if (spec.cancel && status?.phase === 'RUNNING') {
    const pod = await rig.pod();
    if (pod.spec.activeDeadlineSeconds === 1 && pod.status?.phase === 'Running') await rig.exit(143);
  }
  return status;
}

/** A whole life: accepted, tried, launched, running, canceled, stopped, done, deleted. */
async function live(t: TestContext, spec: Partial<AtSpec>, killAt = ''): Promise<Life> {
  const rig = await AtRig.create(t);
  const end = new AbortController();
  const seen = { output: '' };
  const podUids = new Set<string>();
  const watching = (async () => {
    const options = { namespace: rig.namespace, timeoutSeconds: 600, signal: end.signal };
    for await (const event of await rig.client.watch(pods, options)) {
      if (event.type === 'ADDED') podUids.add(event.object.metadata.uid ?? '');
    }
  })().catch(() => {});
  // With a deadline the start is written to status.
  const terms = { ttlSecondsAfterFinished: 1, backoffLimit: 0, activeDeadlineSeconds: 3600 };
  await rig.createAt({ schedule: farAway, ...terms, ...spec });
  const operating = operate(rig.namespace, killAt, end.signal, seen);
  let last: AtStatus = { phase: 'PENDING' };
  const isTried = () => /^killed|dryRun=All/m.test(seen.output);
  const isOver = async () => {
    try {
      last = (await step(rig, isTried)) ?? last;
      return false;
    } catch (error) {
      return (
        isNotFound(error) && (await rig.client.list(ats, { namespace: rig.namespace })).items.length === 0
      );
    }
  };
  try {
    await eventually(isOver, { timeout: 60_000, message: `the At is over, killed ${killAt}` });
  } finally {
    end.abort();
    await Promise.all([operating, watching]);
  }
  const writes = [...seen.output.matchAll(/^write \d+: (.*)$/gm)].map(([, write = '']) => write);
  const kills = seen.output.match(/^killed/gm)?.length ?? 0;
  return { writes, kills, podUids: [...podUids], status: last };
}

function checkLife(life: Life, killAt: string, spec: Partial<AtSpec>): void {
  const { outcome, reason } = life.status;
  assert.equal(life.kills, 1, `killed ${killAt}`);
  if (spec.launchGuarantee === 'AtMostOnce' && reason === 'LaunchUnknown') {
    assert.deepEqual([outcome, life.podUids.length], ['Failed', 0], `killed ${killAt}`);
  } else {
    assert.deepEqual([outcome, life.podUids.length], ['Canceled', 1], `killed ${killAt}`);
  }
}

describe('an At whose operator is killed with SIGKILL', { concurrency: 4 }, () => {
  before(() => applyCrds());

  for (const launchGuarantee of ['AtLeastOnce', 'AtMostOnce'] as const) {
    it(`at any write, ${launchGuarantee}, runs once and ends`, { timeout }, async (t) => {
      const spec = { launchGuarantee };
      const recorded = await live(t, spec);
      assert.equal(recorded.kills, 0);
      assert.equal(recorded.status.outcome, 'Canceled');
      const points = recorded.writes.map((_, index) => index + 1);
      assert.equal(points.length, launchGuarantee === 'AtMostOnce' ? 10 : 9, recorded.writes.join('\n'));
      // What does not depend on the guarantee is killed once: in the life that has all the writes.
      const isLaunch = (point: number) =>
        /^POST .*\/pods\?(?!.*dryRun)/.test(recorded.writes[point - 1] ?? '');
      const own = launchGuarantee === 'AtMostOnce' ? points : points.filter(isLaunch);
      assert.ok(own.length > 0);
      const kills = ['before:1', ...own.map((point) => `after:${point}`)];
      const next = kills.values();
      const worker = async () => {
        for (const killAt of next) checkLife(await live(t, spec, killAt), killAt, spec);
      };
      await Promise.all([worker(), worker(), worker()]);
    });
  }
});
