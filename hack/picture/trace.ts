/** Trace: what a recorded run of both kinds showed, with times in ms. */

/** A Pod from its creation to its end, in ms since the start of its part. */
export interface PodSpan {
  readonly name: string;
  /** Negative when it was there before. */
  readonly created: number;
  readonly ready: number;
  /** When it had ended or began to terminate; absent when it is still there. */
  readonly ended?: number;
}

export interface Moment {
  readonly at: number;
  readonly text: string;
}

/** One kind at work. */
export interface Part {
  readonly kind: string;
  readonly title: string;
  readonly moments: readonly Moment[];
  readonly pods: readonly PodSpan[];
}

export interface Trace {
  readonly parts: readonly Part[];
}
