/** Live read: the truth, from the API server itself, for a decision that must not rest on a cache. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { requestFor, requestKey } from '../../runtime/controller/reconciler.ts';
import { withLastEdit } from '../facts/last-edit.ts';
import { endedByItself } from '../facts/observe-pod.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { currentAttempt, findAmong, isOurs, podNames, podsAt, recordedAttempts } from '../facts/own-pod.ts';
import { transformPod } from '../facts/transform.ts';
import { runOf } from '../plan/run.ts';
import { sanitize } from '../plan/sanitize.ts';
import type { AtParts } from './at-parts.ts';
import { delayAfter } from './create-answer.ts';
import { conflictDelayMs, found } from './settle.ts';

/** For a read that a launch waits for. */
export const readTimeoutMs = 5000;

/** What reads, and the At itself where it was read a moment ago. */
type Reading = Pick<AtParts, 'client' | 'clock' | 'departed' | 'memory' | 'turns'> & {
  readonly listed?: At | undefined;
};

/** The facts as the API server shows them. An At that is gone, or another one by now, ends the pass. */
export async function readLive(
  reading: Reading,
  need: Need,
  observed: Observed,
  signal: AbortSignal,
): Promise<Answer<Observed>> {
  const { clock, departed, memory, turns } = reading;
  const shown = await readTogether(reading, need, observed, signal);
  if (shown === undefined) {
    return { next: 'end', result: { requeueAfter: conflictDelayMs } };
  }
  const { at, read } = shown;
  const { current, next } = podNames(at);
  // The watch may tell later than this read that a Pod is gone, which it has shown: a run that was seen is not repeated.
  for (const pod of [observed.pod, observed.nextPod]) {
    if (pod !== undefined && isOurs(observed, pod) && isGone(pod, read)) departed.keep(pod);
  }
  const seen = withRead(observed, at, read);
  const known = { ...seen, departed: departed.of(at), live: true, now: clock.now() };
  remember(memory, known);
  const ended = [known.nextPod, known.pod].find((pod) => pod && isOurs(known, pod) && endedByItself(pod));
  if (ended) departed.keep(transformPod(ended));
  // Under the name of a recorded Pod nothing is created any more.
  if (!isForeign(known, read.get(next ?? current))) return { next: 'decide', facts: known };
  turns.passOn(requestKey(requestFor(at)));
  // The watch need not tell when a stranger's Pod goes. The next look comes later each time.
  const retryDelay = delayAfter(memory.lookedInVain(observed.at));
  return { next: 'decide', facts: { ...known, retryDelay } };
}

/** The At and what stands at its names; undefined where the At is gone, or another one by now. */
async function readTogether(
  { client, memory, listed }: Reading,
  need: Need,
  observed: Observed,
  signal: AbortSignal,
): Promise<{ readonly at: At; readonly read: ReadonlyMap<string, Pod | undefined> } | undefined> {
  const { namespace = '', name, uid } = observed.at.metadata;
  const options = { signal, timeout: readTimeoutMs };
  const read = new Map<string, Pod | undefined>();
  let before: At;
  let { at } = observed;
  // The At last, and Pods again where an attempt was recorded meanwhile: what status says of a Pod that is gone is then
  // newer than its absence, and that a recorded Pod is gone was read after it had been recorded.
  do {
    before = at;
    for (const podName of need === 'pods' ? namesOf(before) : []) {
      read.set(podName, await found(client.get(pods, { namespace, name: podName }, options)));
    }
    const isListed = listed !== undefined && need === 'at';
    const answer = isListed
      ? listed
      : await found(client.get(ats, { namespace, name }, options)).catch((error) => {
          remember(memory, withRead(observed, at, read));
          throw error;
        });
    const shown = answer && withLastEdit(sanitize(answer));
    memory.read(observed.at, shown);
    if (shown === undefined || shown.metadata.uid !== uid) {
      return undefined;
    }
    at = shown;
  } while (need === 'pods' && !hasSameAttempt(before, at));
  return { at, read };
}

/** What is known of this version of the At, with the Pods that were read in place of those in the cache. */
function withRead(observed: Observed, at: At, read: ReadonlyMap<string, Pod | undefined>): Observed {
  const cached = findAmong(observed);
  const pods = podsAt(at, (podName) => (read.has(podName) ? read.get(podName) : cached(podName)));
  return { ...observed, at, ...pods };
}

function isGone({ metadata: { name, uid } }: Pod, read: ReadonlyMap<string, Pod | undefined>): boolean {
  return read.has(name) && read.get(name)?.metadata.uid !== uid;
}

function isForeign(o: Observed, pod: Pod | undefined): boolean {
  return pod !== undefined && !isOurs(o, pod);
}

function hasSameAttempt(one: At, other: At): boolean {
  return recordedAttempts(one) === recordedAttempts(other) && one.status?.podUID === other.status?.podUID;
}

/** Those of earlier attempts, too: a late create may have brought one back. */
function namesOf(at: At): readonly string[] {
  const { earlier, current, next } = podNames(at);
  return [...earlier, current, ...(next === undefined ? [] : [next])];
}

/** A Pod that this read alone may have shown: when it goes before status records it, its run is not repeated. */
function remember(memory: AtParts['memory'], o: Observed): void {
  const attempt = currentAttempt(o);
  if (!attempt?.isNew || attempt.view === undefined || attempt.podUID === o.launch?.podUID) return;
  const { pod, createdAt: launchTime } = attempt.view;
  const { launchedSpec, scheduledTime, defaultImage } = runOf(o.at, pod);
  const { podName, podUID } = attempt;
  const launch = { attempt: attempt.attempt, podName, podUID, launchTime };
  memory.launched(o.at, { ...launch, launchedSpec, scheduledTime, defaultImage });
}
