import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { readLive } from '../../../src/at/act/live-read.ts';
import { Memory } from '../../../src/at/act/memory.ts';
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
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const turns = new LaunchTurns(new FakeClock());

/** What is remembered of a launch after a read that has shown these. */
async function remembered(at: At, pod: Pod) {
  const get = async (resource: unknown, { name }: { readonly name: string }) => {
    if (resource === ats) return at;
    if (name === pod.metadata.name) return pod;
    throw new ApiError('not there', 404, { reason: 'NotFound' });
  };
  const client = { get } as unknown as Client;
  const memory = new Memory();
  const { signal } = new AbortController();
  await readLive({ client, clock: new FakeClock(), memory, turns }, 'pods', observing({ at }), signal);
  return memory.recall(at).launch;
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

  it('reads the Pods of all earlier attempts, too, and believes no cache about them', async () => {
    const first = launched();
    const at = withStatus(first, { ...first.status, attempts: 4, podUID: 'pod-uid-4' });
    const back = created(at);
    const asked: string[] = [];
    const get = async (resource: unknown, { name }: { readonly name: string }) => {
      if (resource === ats) return at;
      asked.push(name);
      if (name === back.metadata.name) return back;
      throw new ApiError('not there', 404, { reason: 'NotFound' });
    };
    const parts = {
      client: { get } as unknown as Client,
      clock: new FakeClock(),
      memory: new Memory(),
      turns,
    };
    const cached = observing({ at, earlierPods: [created(at, justAfterDue, 2)] });
    const answer = await readLive(parts, 'pods', cached, new AbortController().signal);
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
    const get = async (resource: unknown, { name }: { readonly name: string }) => {
      asked.push(name);
      if (resource === ats) {
        // Another replica creates and records the Pod just after its absence was read.
        isCreated = true;
        return recorded;
      }
      if (isCreated && name === pod.metadata.name) return pod;
      throw new ApiError('not there', 404, { reason: 'NotFound' });
    };
    const parts = {
      client: { get } as unknown as Client,
      clock: new FakeClock(),
      memory: new Memory(),
      turns,
    };
    const answer = await readLive(parts, 'pods', observing({ at }), new AbortController().signal);
    const [name, next] = ['example-at-pod', 'example-at-pod-2'];
    assert.deepEqual(asked, [name, 'example-at', name, next, 'example-at']);
    assert.ok(answer.next === 'decide');
    assert.deepEqual([answer.facts.at.status?.podUID, answer.facts.pod], ['pod-uid-1', pod]);
  });

  it('takes the 404 of a proxy, which says nothing of the object, for no answer', async () => {
    for (const isAtRead of [true, false]) {
      const get = async (resource: unknown) => {
        if (resource === ats && isAtRead) return launched();
        throw new ApiError('GET https://api/…: HTTP 404: <html>', 404, { code: 404, message: '<html>' });
      };
      const memory = new Memory();
      const parts = { client: { get } as unknown as Client, clock: new FakeClock(), memory, turns };
      const { signal } = new AbortController();
      await assert.rejects(readLive(parts, 'pods', observing({ at: launched() }), signal), /HTTP 404/);
      assert.equal(memory.recall(launched()).behind, false, 'nothing is remembered as gone');
    }
  });
});
