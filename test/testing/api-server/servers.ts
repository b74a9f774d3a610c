/**
 * Simulated API servers on a fake clock, and a client that keeps what it is sent.
 */
import type {
  ApiAnswer,
  ApiRequest,
  Method,
  Responder,
} from '../../../src/testing/api-server/api-message.ts';
import { splitTarget } from '../../../src/testing/api-server/api-message.ts';
import { clusterResources } from '../../../src/testing/api-server/cluster-resources.ts';
import { Etcd } from '../../../src/testing/api-server/etcd.ts';
import { rightsResources } from '../../../src/testing/api-server/rights.ts';
import { SimulatedApiServer } from '../../../src/testing/api-server/simulated-api-server.ts';
import { Random } from '../../../src/testing/random.ts';
import { FakeClock } from '../../fake/clock.ts';

export const admin = 'system:admin';
export const configMaps = '/api/v1/namespaces/default/configmaps';

export interface World {
  readonly clock: FakeClock;
  readonly etcd: Etcd;
  /** Another instance on the same etcd. */
  server(name: string, lag?: () => number): SimulatedApiServer;
}

export function world(): World {
  const clock = new FakeClock();
  const etcd = new Etcd();
  const time = {
    get now() {
      return clock.now();
    },
    schedule: (delay: number, run: () => void) => clock.setTimer(delay, run),
  };
  const result: World = {
    clock,
    etcd,
    server(name, lag) {
      const random = new Random(name);
      const options = { etcd, time, random, name, resources: [...clusterResources, ...rightsResources] };
      return new SimulatedApiServer(lag === undefined ? options : { ...options, lag });
    },
  };
  const first = result.server('first');
  for (const name of ['default', 'other']) {
    first.request(admin, 'POST', '/api/v1/namespaces', { metadata: { name } });
  }
  return result;
}

/** What came back for one request. */
export class Received implements Responder {
  text = '';
  isEnded = false;
  isCut = false;
  #answered: ApiAnswer | undefined;

  answer(answer: ApiAnswer): void {
    this.#answered = answer;
  }

  get isAnswered(): boolean {
    return this.#answered !== undefined;
  }

  get answered(): ApiAnswer | undefined {
    return this.#answered;
  }

  begin(): void {}

  write(text: string): void {
    this.text += text;
  }

  end(): void {
    this.isEnded = true;
  }

  cut(): void {
    this.isCut = true;
  }

  /** Types and names of the events of a watch. */
  get events(): string[] {
    return this.lines.map(({ type, object }) =>
      `${type} ${object.metadata?.name ?? object.code ?? ''}`.trim(),
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind
  get lines(): any[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind
  get body(): any {
    return JSON.parse(this.answered?.body ?? 'null');
  }
}

/** Sends a request as a network would. */
export function send(server: SimulatedApiServer, method: Method, target: string, body?: object): Received {
  const received = new Received();
  const request: ApiRequest = {
    method,
    ...splitTarget(target),
    headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    body: body === undefined ? '' : JSON.stringify(body),
    user: admin,
  };
  server.receive(request, received);
  return received;
}

/** Creates a ConfigMap, and returns its version. */
export function create(server: SimulatedApiServer, name: string): number {
  const { body } = send(server, 'POST', configMaps, { metadata: { name } });
  return Number(body.metadata.resourceVersion);
}
