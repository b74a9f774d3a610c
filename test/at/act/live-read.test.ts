import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { readLive } from '../../../src/at/act/live-read.ts';
import { Memory } from '../../../src/at/act/memory.ts';
import { transformPod } from '../../../src/at/facts/transform.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { FakeClock } from '../../fake/clock.ts';
import {
  created,
  justAfterDue,
  launched,
  observing,
  ownedBy,
  succeeded,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

type Get = (resource: unknown, key: { readonly name: string }) => Promise<At | Pod | undefined>;

const { signal } = new AbortController();

/** For a read by `get`, which gives undefined for what is not there. */
function partsFor(get: Get) {
  const getOrThrow: Get = async (...asked) => {
    const object = await get(...asked);
    if (object === undefined) throw new ApiError('not there', 404, { reason: 'NotFound' });
    return object;
  };
  const clock = new FakeClock();
  const client = { get: getOrThrow } as unknown as Client;
  const kept: Pod[] = [];
  const departed = { of: () => kept, keep: (pod: Pod) => void kept.push(pod) };
  return { client, clock, departed, memory: new Memory(), turns: new LaunchTurns(clock), kept };
}

/** What is remembered of a launch after a read that has shown these. */
async function remembered(at: At, pod: Pod) {
  const parts = partsFor(async (resource, { name }) => {
    if (resource === ats) return at;
    return name === pod.metadata.name ? pod : undefined;
  });
  await readLive(parts, 'pods', observing({ at }), signal);
  return parts.memory.recall(at).launch;
}

describe('a live read', () => {
  it('remembers the Pod that it has shown and no status records, with the time of its creation', async () => {
    const launch = await remembered(waiting(), created(waiting()));
    assert.deepEqual([launch?.attempt, launch?.podUID], [1, 'pod-uid-1']);
    assert.equal(launch?.launchTime, Math.floor(justAfterDue / 1000) * 1000);
  });

  it('remembers no Pod of another owner, none that waits for its release, and none that status records', async () => {
    assert.equal(await remembered(waiting(), ownedBy(created(waiting()), 'another-uid')), undefined);
    const once = waiting({ launchGuarantee: 'ExactlyOnce' });
    assert.equal(await remembered(once, created(once)), undefined);
    assert.equal(await remembered(launched(), created(launched())), undefined);
  });

  it('remembers the Pod also where the At cannot be read', async () => {
    const at = waiting();
    const parts = partsFor(async (resource) => {
      if (resource === ats) throw new ApiError('404 page not found', 404, {});
      return created(at);
    });
    await assert.rejects(readLive(parts, 'pods', observing({ at }), signal), /page not found/);
    assert.equal(parts.memory.recall(at).launch?.podUID, 'pod-uid-1');
  });

  it('remembers how a Pod ended that may be gone before that is recorded', async () => {
    const ended = succeeded(created(launched()));
    const parts = partsFor(async (resource, { name }) => {
      if (resource === ats) return launched();
      return name === ended.metadata.name ? ended : undefined;
    });
    await readLive(parts, 'pods', observing({ at: launched() }), signal);
    assert.deepEqual(parts.kept, [transformPod(ended)], 'as the watch shows Pods');
  });

  it('keeps a Pod that only the cache still shows, so that its run is not repeated', async () => {
    const at = waiting();
    const pod = created(at);
    for (const there of [undefined, { ...pod, metadata: { ...pod.metadata, uid: 'another' } }]) {
      const parts = partsFor(async (resource) => (resource === ats ? at : there));
      const answer = await readLive(parts, 'pods', observing({ at, pod }), signal);
      assert.ok(answer.next === 'decide');
      assert.deepEqual([parts.kept, answer.facts.departed], [[pod], [pod]]);
    }
    const parts = partsFor(async (resource) => (resource === ats ? at : pod));
    await readLive(parts, 'pods', observing({ at, pod }), signal);
    assert.deepEqual(parts.kept, [], 'it is there');
  });

  it('reads the Pods of all earlier attempts, too, and believes no cache about them', async () => {
    const first = launched();
    const at = withStatus(first, { ...first.status, attempts: 4, podUID: 'pod-uid-4' });
    const back = created(at);
    const asked: string[] = [];
    const parts = partsFor(async (resource, { name }) => {
      if (resource === ats) return at;
      asked.push(name);
      return name === back.metadata.name ? back : undefined;
    });
    const cached = observing({ at, earlierPods: [created(at, justAfterDue, 2)] });
    const answer = await readLive(parts, 'pods', cached, signal);
    const others = [2, 3, 4, 5].map((attempt) => `example-at-pod-${attempt}`);
    assert.deepEqual(asked.toSorted(), ['example-at-pod', ...others]);
    assert.ok(answer.next === 'decide');
    assert.deepEqual(answer.facts.earlierPods, [back]);
  });

  it('reads the At after its Pods, and these again where an attempt was recorded meanwhile', async () => {
    const at = waiting();
    const recorded = launched();
    const pod = created(at);
    let isCreated = false;
    const asked: string[] = [];
    const parts = partsFor(async (resource, { name }) => {
      asked.push(name);
      if (resource === ats) {
        // Another replica creates and records the Pod just after its absence was read.
        isCreated = true;
        return recorded;
      }
      return isCreated && name === pod.metadata.name ? pod : undefined;
    });
    const answer = await readLive(parts, 'pods', observing({ at }), signal);
    const [name, next] = ['example-at-pod', 'example-at-pod-2'];
    assert.deepEqual(asked, [name, 'example-at', name, next, 'example-at']);
    assert.ok(answer.next === 'decide');
    assert.deepEqual([answer.facts.at.status?.podUID, answer.facts.pod], ['pod-uid-1', pod]);
  });

  it("waits longer each time for the end of a stranger's Pod, also at the name of the next attempt", async () => {
    const at = launched({ disruptionPolicy: 'Retry' });
    const stranger = ownedBy(created(at, justAfterDue, 2), 'another-uid');
    let isThere = true;
    const parts = partsFor(async (resource, { name }) => {
      if (resource === ats) return at;
      return isThere && name === stranger.metadata.name ? stranger : undefined;
    });
    const delays: number[] = [];
    for (const there of [true, true, true, false]) {
      isThere = there;
      const answer = await readLive(parts, 'pods', observing({ at, nextPod: stranger }), signal);
      assert.ok(answer.next === 'decide');
      delays.push(answer.facts.retryDelay);
    }
    assert.deepEqual(delays, [250, 500, 1000, 250]);
  });

  it('takes the 404 of a proxy, which says nothing of the object, for no answer', async () => {
    for (const isAtRead of [true, false]) {
      const parts = partsFor(async (resource) => {
        if (resource === ats && isAtRead) return launched();
        throw new ApiError('GET https://api/…: HTTP 404: <html>', 404, { code: 404, message: '<html>' });
      });
      await assert.rejects(readLive(parts, 'pods', observing({ at: launched() }), signal), /HTTP 404/);
      assert.equal(parts.memory.recall(launched()).behind, false, 'nothing is remembered as gone');
    }
  });
});
