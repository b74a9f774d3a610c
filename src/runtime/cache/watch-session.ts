/**
 * Watch session: one watch request with limits on everything it could hang in. The server must answer,
 * must bring the initial events to their end, must send a bookmark now and then, and must end the stream at
 * the agreed time: a half-open connection, which never says anything again, is left in minutes instead of never.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Client, WatchCallOptions, WatchEvent } from '../client/client.ts';
import { collectionPath, resourceOf } from '../client/resource-path.ts';
import type { Clock, Timer } from '../clock.ts';
import { tellWatch, type WatchDiagnostic } from '../diagnostics.ts';

/** Milliseconds for the answer to the request itself. */
const openLimit = 30_000;
/** Milliseconds between two initial events, and for all of them. */
const initialSilenceLimit = 10_000;
const initialLimit = 120_000;
/** Milliseconds without a line, from the answer on, after which the watch is silent: about one bookmark a minute comes. */
const bookmarkLimit = 150_000;
/** Milliseconds that a server may be late with ending the stream. */
const endGrace = 30_000;

/** Milliseconds before the agreed time at which the end of a watch is still the agreed one: clocks differ. */
const endTolerance = 5000;

/** A limit of the session is over; the request itself was right. */
export class WatchLimitError extends Error {
  override readonly name = 'WatchLimitError';
}

/** The initial events had no end: the server does not know `sendInitialEvents`. */
export class InitialEventsError extends Error {
  override readonly name = 'InitialEventsError';
}

interface Limit {
  /** Monotonic ms. */
  readonly due: number;
  readonly error: () => Error;
}

export class WatchSession<T extends KubernetesObject> {
  /** Lines received so far. */
  events = 0;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #resource: Resource<T>;
  readonly #options: Omit<WatchCallOptions, 'signal'>;
  readonly #controller = new AbortController();
  readonly #startedAt: number;
  #openedAt: number | undefined;
  #lastEvent = 0;
  #initial: boolean;
  /** The server has ended the watch, so that nothing is left to give up. */
  #isOver = false;
  #timer: Timer | undefined;

  constructor(
    client: Client,
    clock: Clock,
    resource: Resource<T>,
    options: Omit<WatchCallOptions, 'signal'>,
  ) {
    this.#client = client;
    this.#clock = clock;
    this.#resource = resource;
    this.#options = options;
    this.#initial = options.sendInitialEvents === true;
    this.#startedAt = clock.monotonic();
  }

  /** Milliseconds since the server answered; undefined before that. */
  get age(): number | undefined {
    return this.#openedAt === undefined ? undefined : this.#clock.monotonic() - this.#openedAt;
  }

  /** Whether it has lasted for as long as the server was asked to keep it open. */
  get isComplete(): boolean {
    return (this.age ?? 0) >= this.#agreedAge - endTolerance;
  }

  /** Milliseconds after which the server was asked to end the watch. */
  get #agreedAge(): number {
    return this.#options.timeoutSeconds * 1000;
  }

  /** Gives the request up, wherever it is. */
  close(): void {
    if (this.#isOver) return;
    this.#controller.abort(new WatchLimitError('the watch was given up'));
  }

  /** The initial events are complete. */
  endInitialEvents(): void {
    this.#initial = false;
  }

  /**
   * Opens the watch and yields its events.
   *
   * @param opened called when the server has answered 200.
   * @throws {WatchLimitError} {@link InitialEventsError}, the signal's reason, or what the client throws.
   */
  async *run(signal: AbortSignal, opened: () => void): AsyncGenerator<WatchEvent<T>, void, undefined> {
    let failure: unknown;
    const onAbort = () => {
      this.#controller.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#controller.signal.throwIfAborted();
      this.#checkLimits();
      const options = { ...this.#options, signal: this.#controller.signal };
      // Where only metadata is asked for, T is no more than that.
      const stream = (await this.#client.watch(this.#resource, options)) as AsyncIterable<WatchEvent<T>>;
      this.#controller.signal.throwIfAborted();
      this.#openedAt = this.#lastEvent = this.#clock.monotonic();
      opened();
      tellWatch(() => ({ type: 'opened', resource: this.#title }));
      this.#checkLimits();
      for await (const event of stream) {
        this.#controller.signal.throwIfAborted();
        this.events++;
        this.#lastEvent = this.#clock.monotonic();
        yield event;
      }
      this.#controller.signal.throwIfAborted();
      this.#isOver = true;
    } catch (error) {
      failure = error;
      // A transport wraps or replaces the reason of an abort; here it is known.
      this.#controller.signal.throwIfAborted();
      throw error;
    } finally {
      tellWatch(() =>
        this.#ended(this.#controller.signal.aborted ? this.#controller.signal.reason : failure),
      );
      this.#timer?.cancel();
      signal.removeEventListener('abort', onAbort);
      this.close();
    }
  }

  get #title(): string {
    return resourceOf(collectionPath(this.#resource)) ?? this.#resource.plural;
  }

  #ended(error: unknown): WatchDiagnostic {
    return { type: 'ended', resource: this.#title, events: this.events, error };
  }

  /** Aborts when a limit is over, otherwise looks again when the next one may be: one timer, not one per line. */
  #checkLimits(): void {
    this.#timer?.cancel();
    const now = this.#clock.monotonic();
    const limits = this.#limits();
    const over = limits.find(({ due }) => due <= now);
    if (over !== undefined) {
      this.#controller.abort(over.error());
      return;
    }
    const next = Math.min(now + bookmarkLimit, ...limits.map(({ due }) => due));
    // A timer may fire up to 1 ms early.
    this.#timer = this.#clock.setTimer(Math.max(1, next - now), () => this.#checkLimits());
  }

  #limits(): Limit[] {
    const limit = (due: number, message: string): Limit => ({
      due,
      error: () => new WatchLimitError(message),
    });
    if (this.#openedAt === undefined) {
      return [limit(this.#startedAt + openLimit, `the watch was not answered within ${openLimit / 1000} s`)];
    }
    const end = this.#openedAt + this.#agreedAge + endGrace;
    const limits = [
      limit(end, 'the server did not end the watch in time'),
      limit(this.#lastEvent + bookmarkLimit, 'the watch fell silent'),
    ];
    if (this.#initial) {
      limits.push({
        due: Math.min(this.#lastEvent + initialSilenceLimit, this.#openedAt + initialLimit),
        error: () => new InitialEventsError('the initial events of the watch had no end'),
      });
    }
    return limits;
  }
}
