/**
 * kill −9 of the real program after each write of an At's life, when the API server has answered and no client
 * has seen the answer; a second process takes over. The writes are those of a life without a kill. A kill
 * right before a write leaves what one after the write before it leaves, so that only the first has one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { before, describe, it, type TestContext } from 'node:test';
import type { At, AtStatus } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { pods } from '../../../src/kubernetes/objects.ts';
import { type AtStory, atStories, trackedStory } from '../../fixtures/at-stories.ts';
import { AtRig } from '../at-rig.ts';
import { applyCrds, eventually } from '../support.ts';
import { countWrites, isSpare, type KilledLife, killAtEach, lifeOf } from './kill-points.ts';

const killer = new URL('./at-killer.mjs', import.meta.url).href;
const program = new URL('../../../dist/atwatch.js', import.meta.url).pathname;
const trackingProgram = new URL('./tracking-operator.ts', import.meta.url).pathname;
const timeout = 240_000;

interface Life extends KilledLife {
  /** uids of all Pods there ever were. */
  readonly podUids: ReadonlySet<string>;
  /** Of those, the ones that a node could have had. */
  readonly releasedUids: ReadonlySet<string>;
  /** The last one before the At was deleted. */
  readonly status: AtStatus;
}

/** The words of the program. One that works in a namespace of its own has no finalizer on its Pods. */
function wordsOf({ tracked = false }: AtStory, namespace: string): readonly string[] {
  if (tracked) return [trackingProgram, namespace];
  const servers = ['--metrics-bind-address=0', '--health-probe-bind-address=0'];
  return [program, `--namespaces=${namespace}`, '--log-level=error', ...servers];
}

/** Runs the operator until `end`, again after each kill; only the first process meets `killAt`. */
async function operate(
  words: readonly string[],
  killAt: string,
  end: AbortSignal,
  seen: { output: string },
): Promise<void> {
  for (let first = true; !end.aborted; first = false) {
    const env = { ...process.env, KILL_AT: first ? killAt : '' };
    const child = spawn(process.execPath, ['--import', killer, ...words], {
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

/** The whole life of an At, with a kill at one of its writes. It is over when the At is gone and all Events are sent. */
async function live(t: TestContext, story: AtStory, killAt = ''): Promise<Life> {
  const rig = await AtRig.create(t);
  const end = new AbortController();
  const seen = { output: '' };
  const [podUids, releasedUids] = [new Set<string>(), new Set<string>()];
  await rig.watch(t, pods, (_, { metadata: { uid = '' }, spec }) => {
    podUids.add(uid);
    if ((spec.schedulingGates ?? []).length === 0) releasedUids.add(uid);
  });
  let last: At = await rig.createAt(story.spec);
  let isGone = false;
  await rig.watch(t, ats, (type, object) => {
    last = object;
    isGone = type === 'DELETED';
  });
  const operating = operate(wordsOf(story, rig.namespace), killAt, end.signal, seen);
  const isTried = () => /^killed|\(dry run\)/m.test(seen.output);
  const isOver = async () => {
    if (!isGone) {
      await story.step(rig, last, isTried);
      return false;
    }
    if (killAt === '') {
      return countWrites(lifeOf(seen.output).writes)['POST events'] === story.writes['POST events'];
    }
    // The watch may show the end before the answer reaches the operator that is to be killed by it.
    return lifeOf(seen.output).kills.length > 0 || isSpare(story, killAt);
  };
  try {
    await eventually(isOver, { timeout: 60_000, message: `the At is over, killed ${killAt}` });
  } finally {
    end.abort();
    await operating;
  }
  const { status = {} } = last;
  return { ...lifeOf(seen.output), podUids, releasedUids, status };
}

/** The end without what times and names of processes leave in it. */
function endOf({ status: { phase, outcome, reason, exitCode, attempts }, podUids, releasedUids }: Life) {
  return {
    ...{ phase, outcome, reason, exitCode, attempts },
    ...{ pods: podUids.size, released: releasedUids.size },
  };
}

describe('an At whose operator is killed with SIGKILL', { concurrency: 4 }, () => {
  before(() => applyCrds());

  for (const story of [...atStories, trackedStory]) {
    it(`at any write of a run ${story.name}, runs once and ends`, { timeout }, async (t) => {
      const recorded = await live(t, story);
      assert.deepEqual([recorded.status.phase, recorded.status.outcome], ['DONE', story.outcome]);
      const again = (killAt: string) => live(t, story, killAt);
      await killAtEach(story, recorded, 3, again, (life, killAt) => {
        assert.deepEqual(endOf(life), endOf(recorded), `killed ${killAt}`);
      });
    });
  }
});
