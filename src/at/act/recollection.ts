/** Recollection: what {@link Memory} keeps of one At. */
import type { Observed } from '../facts/observed.ts';
import type { Span } from '../facts/slow-answers.ts';
import type { Cause } from '../plan/cause.ts';

/** Epoch milliseconds, and the generation of the At then. */
export interface Since {
  readonly time: number;
  readonly generation: number | undefined;
}

/** What a decision learns of it. */
export type Recalled = Pick<
  Observed,
  | 'launch'
  | 'ambiguous'
  | 'unread'
  | 'untried'
  | 'behind'
  | 'heldUpSince'
  | 'waitsSince'
  | 'unreleasedSince'
  | 'slowAnswers'
>;

export interface Recollection {
  /** Of the At; another At of the same name has a memory of its own. */
  readonly uid: string;
  launch?: NonNullable<Observed['launch']>;
  ambiguous: boolean;
  /** Since when the reads have failed that its launch waits for: monotonic milliseconds. */
  unreadSince?: number | undefined;
  untried: boolean;
  /** Since when creates have failed, or a status that they wait for, for whatever reason. */
  heldUp?: Since;
  /** Since when it waits because creates of others fail. */
  waits?: Since;
  /** Since when the release of its Pod has failed. */
  unreleased?: Since;
  /** When its requests were answered late. */
  slowAnswers?: readonly Span[];
  /** resourceVersion of the At that a live read has shown last; `gone` when there was none. */
  read?: string | undefined;
  /** resourceVersion of the At from which a status was decided that came too late. */
  overtaken?: string | undefined;
  /** Refusals in a row. */
  refusals: number;
  /** The last one, where it says nothing of others. */
  ownRefusal?: OwnRefusal & { readonly generation: number | undefined };
  /** Of creates that were turned away for a reason that passes: since when in a row, monotonic milliseconds. */
  turnedAwaySince?: number | undefined;
  /** Statuses in a row that the API server did not take. */
  unwritable?: number;
  /** Of gated Pods that were created since a status was written last: how many, and when the last one, monotonic ms. */
  gated?: { readonly count: number; readonly at: number };
}

/** Why the create of an At was refused that says nothing of others, and when it may be sent again, monotonic ms. */
export interface OwnRefusal {
  readonly failure: Cause;
  readonly retryAt: number;
}
