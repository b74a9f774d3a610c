/**
 * Slow answers: when the requests that a launch or a release waits for took so long that the time is not the operator's.
 * The API server was slow, or turned them away first, and the client repeated them.
 */

/** Epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** So many are kept of an At: what goes on longer fails, and is told as that. */
const maxSpans = 20;

/** With another one, in the order of their ends and without overlaps. */
export function withSpan(spans: readonly Span[] | undefined = [], { from, to }: Span): readonly Span[] {
  const apart = spans.filter((span) => span.to < from);
  const joined = Math.min(from, ...spans.slice(apart.length).map((span) => span.from));
  return [...apart, { from: joined, to }].slice(-maxSpans);
}

/** How many milliseconds of a time they take up. */
export function slowFor(spans: readonly Span[] | undefined = [], from: number, to: number): number {
  const parts = spans.map((span) => Math.min(span.to, to) - Math.max(span.from, from));
  return parts.reduce((sum, part) => sum + Math.max(0, part), 0);
}
