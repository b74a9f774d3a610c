/**
 * Memory: what this process knows of an At that the API does not show, or not yet. All of it may be lost at
 * any time; a decision without it is slower or more careful, never wrong.
 */
import type { At } from '../../api/at.generated.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import { requestFor, requestKey } from '../../runtime/controller/reconciler.ts';
import type { Observed } from '../facts/observed.ts';
import { type Span, withSpan } from '../facts/slow-answers.ts';
import { isJustEdited } from '../plan/phase.ts';
import { delayAfter } from './create-answer.ts';
import type { OwnRefusal, Recalled, Recollection, Since } from './recollection.ts';

const gone = 'gone';

/** Before an edit nothing could be late. */
function sinceIn(at: At, time: number): Since {
  const { generation } = at.metadata;
  return { time: isJustEdited(at) ? Number.NEGATIVE_INFINITY : time, generation };
}

/** Minus infinity for what has lasted since before the last edit. */
function sinceEdit({ metadata }: At, { time, generation }: Since): number {
  return generation === metadata.generation ? time : Number.NEGATIVE_INFINITY;
}

export class Memory {
  /** By namespace/name. Only Ats that something is known of have an entry. */
  readonly #entries = new Map<string, Recollection>();

  get size(): number {
    return this.#entries.size;
  }

  recall(at: At): Recalled {
    const entry = this.#known(at);
    return {
      ...(entry?.launch === undefined ? {} : { launch: entry.launch }),
      behind: entry !== undefined && isBehind(at, entry),
      ambiguous: entry?.ambiguous ?? false,
      unread: entry?.unreadSince !== undefined,
      untried: entry?.untried ?? false,
      ...(entry?.heldUp === undefined ? {} : { heldUpSince: sinceEdit(at, entry.heldUp) }),
      ...(entry?.waits === undefined ? {} : { waitsSince: sinceEdit(at, entry.waits) }),
      ...(entry?.unreleased === undefined ? {} : { unreleasedSince: sinceEdit(at, entry.unreleased) }),
      ...(entry?.slowAnswers === undefined ? {} : { slowAnswers: entry.slowAnswers }),
    };
  }

  /** What became of the last create is known. */
  answered(at: At): void {
    this.#entry(at).ambiguous = false;
  }

  /** The API server has answered the create with 201. */
  created(at: At): void {
    this.answered(at);
    const entry = this.#entry(at);
    entry.refusals = 0;
    entry.turnedAwaySince = undefined;
    delete entry.ownRefusal;
  }

  /** The same, and the Pod starts nothing before it is recorded. @param now monotonic milliseconds. */
  createdGated(at: At, now: number): void {
    this.created(at);
    const entry = this.#entry(at);
    entry.gated = { count: (entry.gated?.count ?? 0) + 1, at: now };
  }

  /** Milliseconds until another gated Pod may take the place of one that was not recorded and is gone. */
  gatedWaitMs(at: At, now: number): number {
    const { gated } = this.#known(at) ?? {};
    return gated === undefined ? 0 : Math.max(0, gated.at + delayAfter(gated.count) - now);
  }

  /** The same, and the Pod may run. */
  launched(at: At, launch: NonNullable<Observed['launch']>): void {
    this.created(at);
    this.#entry(at).launch = launch;
  }

  /** A create has failed, or a status that it waits for, for whatever reason. @param since epoch milliseconds. */
  heldUp(at: At, since: number): void {
    this.#entry(at).heldUp ??= sinceIn(at, since);
  }

  /** The release of its Pod has failed, for whatever reason. @param since epoch milliseconds. */
  unreleased(at: At, since: number): void {
    this.#entry(at).unreleased ??= sinceIn(at, since);
  }

  /** A request that its launch or its release waited for was answered late. */
  answeredSlowly(at: At, span: Span): void {
    const entry = this.#entry(at);
    entry.slowAnswers = withSpan(entry.slowAnswers, span);
  }

  /** Creates of others fail, and so would this one. @param since epoch milliseconds. */
  waits(at: At, since: number): void {
    this.#entry(at).waits ??= sinceIn(at, since);
  }

  /** It is not due. What kept it from its launch before an edit says nothing of the next time. */
  notDue(at: At): void {
    const entry = this.#known(at);
    if (entry?.heldUp?.generation !== at.metadata.generation) delete entry?.heldUp;
    if (entry?.waits?.generation !== at.metadata.generation) delete entry?.waits;
  }

  /** A create was refused. Returns how often in a row. */
  refused(at: At): number {
    this.answered(at);
    return this.lookedInVain(at);
  }

  /** The last refusal was for a reason of its own, or, without one, for one that others have as well. */
  refusedFor(at: At, own: OwnRefusal | undefined): void {
    const entry = this.#entry(at);
    if (own === undefined) delete entry.ownRefusal;
    else entry.ownRefusal = { ...own, generation: at.metadata.generation };
  }

  /** Undefined where its create was not refused last for a reason of its own, and once it was edited. */
  ownRefusal(at: At): OwnRefusal | undefined {
    const own = this.#known(at)?.ownRefusal;
    return own?.generation === at.metadata.generation ? own : undefined;
  }

  /** A create that was sent then was turned away for a reason that passes by itself. Returns since when in a row. */
  turnedAway(at: At, sentAt: number): number {
    const entry = this.#entry(at);
    entry.turnedAwaySince ??= sentAt;
    return entry.turnedAwaySince;
  }

  /**
   * A live read has shown another Pod at the name of the next one, or has failed. Returns how often in a row, with
   * refusals.
   */
  lookedInVain(at: At): number {
    const entry = this.#entry(at);
    entry.refusals += 1;
    return entry.refusals;
  }

  /** A create was sent and not answered; it may take effect later. */
  unanswered(at: At): void {
    this.#entry(at).ambiguous = true;
  }

  /** A live read has shown this in place of `at`. */
  shown(at: At, live: At | undefined): void {
    const isSame = live !== undefined && live.metadata.uid === at.metadata.uid;
    this.#entry(at).read = isSame ? live.metadata.resourceVersion : gone;
  }

  /** The same of a read that a launch waited for. */
  read(at: At, live: At | undefined): void {
    this.shown(at, live);
    this.#entry(at).unreadSince = undefined;
  }

  /** A live read that was sent then has failed. Returns since when in a row, monotonic milliseconds. */
  unread(at: At, sentAt: number): number {
    const entry = this.#entry(at);
    entry.unreadSince ??= sentAt;
    return entry.unreadSince;
  }

  /** A status decided from this version met a newer one. */
  overtaken(at: At): void {
    this.#entry(at).overtaken = at.metadata.resourceVersion;
  }

  /** Its status was refused as invalid. Returns how often in a row. */
  unwritable(at: At): number {
    const entry = this.#entry(at);
    entry.unwritable = (entry.unwritable ?? 0) + 1;
    return entry.unwritable;
  }

  /** Its status was written. */
  written(at: At): void {
    const entry = this.#known(at);
    if (entry !== undefined) {
      delete entry.unwritable;
      delete entry.gated;
    }
  }

  /** Its Pod is to be tried. */
  toTry(at: At): void {
    this.#entry(at).untried = true;
  }

  /** Its Pod has been tried. Most Ats then wait for a long time, and nothing more need be known of them. */
  tried(at: At): void {
    const entry = this.#known(at);
    if (entry === undefined) {
      return;
    }
    entry.untried = false;
    if (
      entry.launch === undefined &&
      !entry.ambiguous &&
      entry.unreadSince === undefined &&
      entry.refusals === 0
    ) {
      this.#entries.delete(requestKey(requestFor(at)));
    }
  }

  /** Nothing about this name matters any more. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  #known(at: At): Recollection | undefined {
    const entry = this.#entries.get(requestKey(requestFor(at)));
    return entry?.uid === at.metadata.uid ? entry : undefined;
  }

  #entry(at: At): Recollection {
    const known = this.#known(at);
    if (known !== undefined) {
      return known;
    }
    const entry = { uid: at.metadata.uid ?? '', ambiguous: false, untried: false, refusals: 0 };
    this.#entries.set(requestKey(requestFor(at)), entry);
    return entry;
  }
}

/** An At that is gone is behind until the cache shows that, too. */
function isBehind({ metadata: { resourceVersion = '' } }: At, { read, overtaken }: Recollection): boolean {
  return (
    overtaken === resourceVersion ||
    read === gone ||
    (read !== undefined && (compareResourceVersions(resourceVersion, read) ?? 0) < 0)
  );
}
