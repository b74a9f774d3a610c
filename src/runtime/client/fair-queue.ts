/**
 * FairQueue: who is next, of many that wait for one of a few places. What is sent on behalf of one controller is a
 * lane. Lanes wait apart: the next place goes to the lane that has the fewest, and where several have equally few,
 * to them in turns.
 *
 * Requests may hang in the places they have, so a lane may never have them all: it may have no more than remain free
 * for the others ("dynamic thresholds", Choudhury and Hahne). With 64 places a lane that is alone has at most 32; when
 * those hang, the next lane has up to 16, a third one up to 8. Half of all places is what `perLane` says.
 */
import type { Sort } from './request-limits.ts';

/** The requests of one lane that are of one sort: those under way, and those in line. */
export interface Flow<W> {
  readonly lane: Lane<W>;
  readonly sort: Sort;
  /** In the order of their arrival. */
  readonly waiting: Set<W>;
  underWay: number;
}

interface Lane<W> {
  readonly flows: Map<Sort, Flow<W>>;
  underWay: number;
  /** When it had its last turn, as a number that grows with each turn. */
  turn: number;
}

export class FairQueue<W extends object> {
  readonly #places: number;
  readonly #lanes = new Map<string, Lane<W>>();
  /** The flows in which someone waits, in the order in which that began. */
  readonly #inLine = new Set<Flow<W>>();
  #underWay = 0;
  #turns = 0;

  /** @param perLane how many places one lane may have; an integer ≥ 1. All lanes together have twice as many. */
  constructor(perLane: number) {
    if (!(perLane >= 1)) throw new RangeError(`a lane needs 1 place or more, got ${perLane}`);
    this.#places = 2 * perLane;
  }

  /** Places that are taken. */
  get underWay(): number {
    return this.#underWay;
  }

  flow(name: string, sort: Sort): Flow<W> {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { flows: new Map(), underWay: 0, turn: 0 };
      this.#lanes.set(name, lane);
    }
    let flow = lane.flows.get(sort);
    if (flow === undefined) {
      flow = { lane, sort, waiting: new Set(), underWay: 0 };
      lane.flows.set(sort, flow);
    }
    return flow;
  }

  /** Takes a place if one may be had without overtaking those of its own flow. To be given back by {@link leave}. */
  tryEnter(flow: Flow<W>): boolean {
    if (flow.waiting.size > 0 || !this.#hasPlace(flow)) return false;
    this.#enter(flow);
    return true;
  }

  /** Gets in line, to be called up by {@link next}. */
  wait(flow: Flow<W>, waiting: W): void {
    flow.waiting.add(waiting);
    this.#inLine.add(flow);
  }

  /** Gets out of line. */
  quit(flow: Flow<W>, waiting: W): void {
    flow.waiting.delete(waiting);
    if (flow.waiting.size === 0) this.#inLine.delete(flow);
  }

  /** Gives a place back. */
  leave(flow: Flow<W>): void {
    flow.underWay--;
    flow.lane.underWay--;
    flow.sort.underWay--;
    this.#underWay--;
  }

  /** The one that may go now, out of line and with a place; undefined when none may. */
  next(): W | undefined {
    let best: Flow<W> | undefined;
    for (const flow of this.#inLine) {
      if (this.#hasPlace(flow) && (best === undefined || isBefore(flow.lane, best.lane))) best = flow;
    }
    const [first] = best?.waiting ?? [];
    if (best === undefined || first === undefined) return undefined;
    this.quit(best, first);
    // The flows of a lane take turns, too.
    if (best.waiting.size > 0) {
      this.#inLine.delete(best);
      this.#inLine.add(best);
    }
    this.#enter(best);
    return first;
  }

  /** All that wait, in no particular order. */
  *everyone(): Generator<W, void, undefined> {
    for (const flow of this.#inLine) yield* flow.waiting;
  }

  /**
   * What other lanes have under way does not keep a lane from sending one request of a sort, however few the API
   * server can bear: it may be that only theirs hang.
   */
  #hasPlace({ lane, sort, underWay }: Flow<W>): boolean {
    if (lane.underWay >= this.#places - this.#underWay) return false;
    return sort.underWay < sort.limit.current || underWay === 0;
  }

  #enter(flow: Flow<W>): void {
    flow.underWay++;
    flow.lane.underWay++;
    flow.lane.turn = ++this.#turns;
    flow.sort.underWay++;
    this.#underWay++;
  }
}

function isBefore<W>(one: Lane<W>, other: Lane<W>): boolean {
  return one.underWay < other.underWay || (one.underWay === other.underWay && one.turn < other.turn);
}
