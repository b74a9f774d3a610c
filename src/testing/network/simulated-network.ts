/**
 * SimulatedNetwork: which API servers there are, the links to them, and the faults that a story says in advance.
 */
import type { Random } from '../random.ts';
import type { Simulation } from '../simulation.ts';
import { type FaultMatch, FaultScript, type NetworkFault, type SentRequest } from './network-fault.ts';
import type { NetworkServer, RequestReceiver } from './network-server.ts';
import { type LinkNetwork, SimulatedLink } from './simulated-link.ts';

/** The network between replicas and API servers, with the faults that a test sets. */
export class SimulatedNetwork implements LinkNetwork {
  readonly simulation: Simulation;
  readonly #random: Random;
  readonly #links = new Map<string, SimulatedLink>();
  readonly #servers = new Map<string, NetworkServer>();
  readonly #faults = new FaultScript();
  #date = { second: Number.NaN, text: '' };

  constructor(simulation: Simulation) {
    this.simulation = simulation;
    this.#random = simulation.random.fork('network');
  }

  /** The link of that name; it is made at the first call. */
  link(name: string): SimulatedLink {
    let link = this.#links.get(name);
    if (link === undefined) {
      link = new SimulatedLink(this, name);
      this.#links.set(name, link);
    }
    return link;
  }

  get links(): readonly SimulatedLink[] {
    return [...this.#links.values()];
  }

  addServer(name: string, receiver: RequestReceiver): void {
    this.#servers.set(name, { name, receiver, isUp: true });
  }

  /** The instance is gone: connections to it are reset, and new ones go to others. */
  stopServer(name: string): void {
    this.simulation.trace(`server ${name} stopped`);
    this.#server(name).isUp = false;
    for (const link of this.links) {
      for (const wire of link.wiresTo(name)) wire.cut();
    }
  }

  startServer(name: string): void {
    this.simulation.trace(`server ${name} started`);
    this.#server(name).isUp = true;
  }

  /** The instance that a new connection is for, as a load balancer chooses; undefined when none is up. */
  pickServer(): NetworkServer | undefined {
    const up = [...this.#servers.values()].filter(({ isUp }) => isUp);
    return up.length === 0 ? undefined : this.#random.pick(up);
  }

  /** The next `times` matching requests are hit by this fault, which tells `onUse`. Returns what takes it back. */
  fault(match: FaultMatch, fault: NetworkFault, times = 1, onUse?: () => void): () => void {
    return this.#faults.add(match, fault, times, onUse);
  }

  faultOf(request: SentRequest): NetworkFault | undefined {
    return this.#faults.take(request);
  }

  /** True time as an HTTP date, for answers that have none. */
  get date(): string {
    const second = Math.floor(this.simulation.now / 1000);
    if (second !== this.#date.second) {
      this.#date = { second, text: new Date(second * 1000).toUTCString() };
    }
    return this.#date.text;
  }

  #server(name: string): NetworkServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new RangeError(`there is no server ${name}`);
    return server;
  }
}
