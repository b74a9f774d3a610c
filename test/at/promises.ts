/** Promises: what must hold of all that has reached the API server about an At, whatever happened beside it. */
import assert from 'node:assert/strict';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { termsOf } from './rules.ts';
import type { Creation, World } from './world.ts';

/**
 * @param windows whether the guarantee is AtLeastOnce: a Pod that a user deletes may then be created again by
 *   a process that cannot know of it, or by a create that was sent before it was known.
 */
export function assertKept(world: World, { windows }: { readonly windows: boolean }): void {
  assert.deepEqual(world.violations, []);
  for (const created of Map.groupBy(world.creations, ({ atUid, name }) => `${atUid} ${name}`).values()) {
    for (const [index, again] of created.entries()) {
      const before = created.slice(0, index);
      const isWindow = windows && !isKnown(again, before);
      // What was not released has not run.
      const isOnly =
        isGated(again) && !(isReleased(world, again) && before.some((one) => isReleased(world, one)));
      assert.ok(
        index === 0 || isWindow || isOnly,
        `S1: the Pod ${again.name} was created ${created.length} times`,
      );
    }
  }
  const releases = world.releases.map(({ atUid, name }) => `${atUid} ${name}`);
  assert.equal(new Set(releases).size, releases.length, `S1: released twice: ${releases.join()}`);
  for (const creation of world.creations) {
    assertSent(world, creation);
    const { seen, atUid, name } = creation;
    const seenAt = world.cancelsSeen.get(atUid) ?? Number.POSITIVE_INFINITY;
    assert.ok(
      Number(seen.at?.metadata.resourceVersion) < seenAt,
      `S3: ${name} was created after a cancel that status had seen`,
    );
  }
  for (const { metadata, status } of world.ats.values()) {
    const ours = world.creations.filter(({ atUid }) => atUid === metadata.uid);
    const isLost = status?.reason === 'PodLost';
    assert.ok(!isLost || world.deletions.length > 0, 'a Pod that is there was called lost');
    assert.ok((status?.attempts ?? 0) <= ours.length, 'an attempt was counted that had no Pod');
    const hasRun = world.succeeded.has(status?.podUID ?? '');
    assert.ok(status?.outcome !== 'Succeeded' || ours.length > 0, 'success without a run');
    assert.ok(!isLost || !hasRun || !ours.some(isGated), 'a success that the finalizer held was called lost');
  }
}

/** Whether the sender was told that there had been such a Pod. */
function isKnown({ name, seen }: Creation, before: readonly Creation[]): boolean {
  const { attempts = 0, podUID, phase } = seen.at?.status ?? {};
  const uids = [...seen.podUIDs, podUID];
  return phase === 'DONE' || attempts >= attemptOf(name) || before.some(({ uid }) => uids.includes(uid));
}

function isGated({ pod }: Creation): boolean {
  return pod.spec.schedulingGates !== undefined;
}

function isReleased(world: World, { uid }: Creation): boolean {
  return world.releases.some((release) => release.uid === uid);
}

function attemptOf(name: string): number {
  return Number(/-pod-(\d+)$/.exec(name)?.[1] ?? 1);
}

function assertSent(world: World, creation: Creation): void {
  const { atUid, name, pod, time, seen } = creation;
  const { at } = seen;
  assert.ok(at, 'S3: nothing was seen that asks for a Pod');
  assert.equal(at.metadata.uid, atUid, 'S3: another At was seen in its place');
  assert.equal(at.metadata.deletionTimestamp, undefined, 'S3: it was seen to be deleted');
  assert.notEqual(at.status?.phase, 'DONE', 'S3: it was seen to be done');
  assert.notEqual(at.spec.cancel, true, 'S3: it was seen to be canceled');
  if (attemptOf(name) === 1) {
    assert.ok(time >= Date.parse(at.spec.schedule), 'S2: a Pod was created early');
    assert.notEqual(at.spec.suspend, true, 'S3: it was seen to be suspended');
    return;
  }
  const first = world.creations.find(({ uid }) => uid === world.launches.get(atUid));
  assert.ok(first, 'another attempt before the first was recorded');
  assert.deepEqual(madeFrom(pod), madeFrom(first.pod), 'S6: another attempt runs something else');
}

/** All of a Pod that the spec decides. */
function madeFrom(pod: Pod) {
  const { scheduledTime: _, generation: __, ...terms } = termsOf(pod);
  return { spec: pod.spec, labels: pod.metadata.labels, terms };
}
