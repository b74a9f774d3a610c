/** S17: what ends a process, and what it says then. */
import { kept, type NamedPromise } from '../history.ts';

/** Sentences on standard error of a process that is at work: another one may lead. */
const atWork: readonly RegExp[] = [/^lost the leader lease /];
/** Of one that has not begun to work: what it cannot work without. */
const atStart: readonly RegExp[] = [
  /^cannot reach the API server at /,
  / is not served: its CustomResourceDefinition is not installed; /,
  /^the caches were not filled within \d+ s( after their last progress)?: /,
  / cannot be watched: User ".*" cannot do that; /,
];
/** Of one that was told to stop, and meets an API server that does not answer. */
const whileStopping: readonly RegExp[] = [/^stopped, but not within \d+ s: /];
/** Exit code of a process that a SIGTERM meets before its program handles it. */
const terminated = 143;

export const processesGoOn: NamedPromise = {
  name: 'S17',
  sentence:
    'a process ends by a signal or because it has lost its lease, or at its start, and one sentence says why',
  start() {
    const ready = new Set<string>();
    const stopping = new Set<string>();
    const sentencesOf = (replica: string) => [
      ...(ready.has(replica) ? atWork : [...atWork, ...atStart]),
      ...(stopping.has(replica) ? whileStopping : []),
    ];
    return {
      log({ replica, text }) {
        if (/^ready\b/.test(text)) ready.add(replica);
        if (/^stopping\b/.test(text)) stopping.add(replica);
        return undefined;
      },
      replica({ replica, end }) {
        if (end === undefined) return undefined;
        const { code, stderr } = end;
        // A second signal leaves no time for a sentence.
        if (code === terminated || (stopping.has(replica) && stderr === '')) return kept;
        const isOne = /^[^\n]+\n$/.test(stderr);
        return code === 1 && isOne && sentencesOf(replica).some((sentence) => sentence.test(stderr))
          ? kept
          : { text: `${replica} ended with ${code}: ${stderr.slice(0, 1000)}`, clue: 'end' };
      },
    };
  },
};
