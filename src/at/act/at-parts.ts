/** At parts: what the parts of the At controller are made of. Each of them names those that it takes. */
import type { At, AtStatus } from '../../api/at.generated.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EventRecorder } from '../../runtime/events/event-recorder.ts';
import type { DepartedPods } from '../facts/departed-pods.ts';
import type { AtDefaults, Preflight } from '../facts/observed.ts';
import type { AuthorCheck } from './author-check.ts';
import type { LaunchTurns } from './launch-turns.ts';
import type { Memory } from './memory.ts';

export interface AtParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly ats: Lister<At>;
  readonly pods: Lister<Pod>;
  readonly departed: Pick<DepartedPods, 'of' | 'keep'>;
  /** Whether `ats` or `pods` may be minutes behind. Absent: they never are. */
  readonly isBlind?: () => boolean;
  /** Whether Pods of ExactlyOnce get a finalizer: only where the right to take it off cannot go before the Pod. */
  readonly tracks: boolean;
  /** What the operator was started with for fields that an At leaves open. */
  readonly defaults?: AtDefaults;
  /** What this process knows of Ats, as a standby and as the leader. */
  readonly memory: Memory;
  /** Whose turn it is where creates fail. A standby has turns of its own: what the leader has met is not known there. */
  readonly turns: LaunchTurns;
  /** Asked before each create. Absent: any author's Ats run. */
  readonly authorCheck?: AuthorCheck;
  /** Called with what a dry run has come to; undefined: the API server gave no answer. */
  readonly onDryRun?: (at: At, preflight: Preflight | undefined) => void;
  /** Called with each status that was written, and the At as it was before. */
  readonly onStatus?: (before: At, after: AtStatus) => void;
}
