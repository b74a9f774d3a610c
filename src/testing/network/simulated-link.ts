/**
 * SimulatedLink: the way between one machine and the API servers, with a latency and the faults that hit all of its
 * connections alike. What is sent while it is partitioned is not lost but waits, as TCP sends it again until the
 * partition is over or the connection has been given up.
 */
import type { Random } from '../random.ts';
import type { Simulation } from '../simulation.ts';
import { type NetworkFault, type NetworkFaultKind, randomFault, type SentRequest } from './network-fault.ts';
import type { NetworkServer } from './network-server.ts';
import type { Direction, Wire, WireLink } from './wire.ts';

/** What a link needs of its network. */
export interface LinkNetwork {
  readonly simulation: Simulation;
  /** The instance that a new connection is for; undefined when none is up. */
  pickServer(): NetworkServer | undefined;
  /** The fault that hits this request. */
  faultOf(request: SentRequest): NetworkFault | undefined;
  /** True time as an HTTP date. */
  readonly date: string;
}

/** One way, ms. */
export interface Latency {
  /** On average, of most messages. Default 0.5. */
  readonly usual: number;
  /** Longest of the slow ones. Default 50. */
  readonly slow: number;
  /** How likely a slow one is, 0 to 1. Default 0.002. */
  readonly slowChance: number;
}

interface Held {
  readonly wire: Wire;
  readonly run: () => void;
  readonly since: number;
}

/** Ms after which TCP gives up what is not acknowledged. */
const retransmissionLimit = 15 * 60_000;
/** Ms after which TCP gives up a connection on which nothing is sent and keep-alive probes are not answered. */
const keepAliveLimit = 30_000 + 9 * 75_000;
/** Longest ms between two retransmissions. */
const slowestRetransmission = 60_000;

/** The link of one machine to the API servers: its latency, its faults, and whether it is cut. */
export class SimulatedLink implements WireLink {
  readonly name: string;
  readonly network: LinkNetwork;
  readonly random: Random;
  latency: Latency = { usual: 0.5, slow: 50, slowChance: 0.002 };
  /** How likely each fault is for each request, 0 to 1; they add up to 1 at most. None by default. */
  faultRates: Partial<Readonly<Record<NetworkFaultKind, number>>> | undefined;
  readonly #simulation: Simulation;
  readonly #wires = new Set<Wire>();
  readonly #partitioned = { out: false, in: false };
  /** Counts partitions and their ends. */
  #partitions = 0;
  #held: Record<Direction, Held[]> = { out: [], in: [] };

  constructor(network: LinkNetwork, name: string) {
    this.name = name;
    this.network = network;
    this.#simulation = network.simulation;
    this.random = this.#simulation.random.fork(`link ${name}`);
  }

  /** TCP connections that are open at the client's side. */
  get connections(): number {
    return this.#wires.size;
  }

  isPartitioned(direction: Direction): boolean {
    return this.#partitioned[direction];
  }

  /** Nothing gets through any more, in one direction or in both. */
  partition(direction: Direction | 'both' = 'both'): void {
    this.#simulation.trace(`${this.name} partitioned ${direction}`);
    if (direction !== 'in') this.#partitioned.out = true;
    if (direction !== 'out') this.#partitioned.in = true;
    const partition = ++this.#partitions;
    this.#giveUpLater([...this.#wires], () => partition === this.#partitions && this.isPartitioned('in'));
  }

  /** Everything gets through again, what was sent meanwhile after its next retransmission. */
  heal(): void {
    this.#simulation.trace(`${this.name} healed`);
    this.#partitions++;
    for (const direction of ['out', 'in'] as const) {
      this.#partitioned[direction] = false;
      const held = this.#held[direction];
      this.#held[direction] = [];
      // Oldest first: with it arrives what was sent after it on its connection.
      const waits = new Map<Wire, number>();
      for (const { wire, run, since } of held) {
        const outage = this.#simulation.elapsed - since;
        const wait = waits.get(wire) ?? this.random.next() * Math.min(outage, slowestRetransmission);
        waits.set(wire, wait);
        this.#retransmit(wire, direction, run, outage, wait);
      }
    }
  }

  /** Every connection is reset, at both ends. */
  reset(): void {
    for (const wire of [...this.#wires]) {
      wire.lostAtServer();
      wire.lostAtClient('read ECONNRESET');
    }
  }

  /** From now on nothing is heard on the connections that are open; new ones work. */
  halfOpen(): void {
    const wires = [...this.#wires];
    for (const wire of wires) wire.silence();
    this.#giveUpLater(wires, () => true);
  }

  /** A message of a connection arrives at the other end, in the order in which they were sent. */
  send(wire: Wire, direction: Direction, run: () => void, late = 0): void {
    if (this.#partitioned[direction]) {
      this.#held[direction].push({ wire, run, since: this.#simulation.elapsed });
      return;
    }
    const delay = this.delay() + late;
    this.#simulation.schedule(wire.arrival(direction, this.#simulation.elapsed, delay), run);
  }

  /** The fault that hits this request. */
  faultOf(method: string, target: string): NetworkFault | undefined {
    const scripted = this.network.faultOf({ link: this.name, method, target });
    if (scripted !== undefined || this.faultRates === undefined) return scripted;
    let draw = this.random.next();
    for (const kind of faultKinds) {
      draw -= this.faultRates[kind] ?? 0;
      if (draw < 0) return randomFault(kind, this.random);
    }
    return undefined;
  }

  opened(wire: Wire): void {
    this.#wires.add(wire);
  }

  closed(wire: Wire): void {
    this.#wires.delete(wire);
  }

  /** That process has ended: its machine resets the connections. */
  abandon(process: object): void {
    for (const wire of [...this.#wires]) {
      if (wire.process === process) wire.leave();
    }
  }

  /** The connections to that server, which has gone. */
  wiresTo(server: string): Wire[] {
    return [...this.#wires].filter((wire) => wire.server.name === server);
  }

  #giveUpLater(wires: readonly Wire[], still: () => boolean): void {
    if (wires.length === 0) return;
    this.#simulation.schedule(keepAliveLimit * (1 + 0.1 * this.random.next()), () => {
      if (!still()) return;
      for (const wire of wires) {
        wire.lostAtServer();
        wire.lostAtClient('read ETIMEDOUT');
      }
    });
  }

  /** How long the next message takes, ms. */
  delay(): number {
    const { usual, slow, slowChance } = this.latency;
    const draw = this.random.next();
    if (draw < slowChance) return slow * this.random.next();
    return usual * (0.5 + draw);
  }

  #retransmit(wire: Wire, direction: Direction, run: () => void, outage: number, wait: number): void {
    // What the client has thrown away never arrives; the server learns that it has.
    if (wire.isClosed) {
      wire.lostAtServer();
      return;
    }
    if (outage > retransmissionLimit) {
      wire.lostAtServer();
      wire.lostAtClient('read ETIMEDOUT');
      return;
    }
    this.#simulation.schedule(wire.arrival(direction, this.#simulation.elapsed, wait), run);
  }
}

const faultKinds: readonly NetworkFaultKind[] = ['requestLost', 'answerLost', 'cut', 'drip', 'delay', 'page'];
