/**
 * Recorder: feeds the history of a run with what replicas send and are shown, and with what changes in etcd. It
 * stands on the seam of the connections, so it sees what leaves a process and what reaches it, and when.
 */
import type { Dispatcher } from 'undici';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { OpenConnection } from '../../../src/runtime/client/http-connection.ts';
import type { ApiAnswer, ApiRequest } from '../../../src/testing/api-server/api-message.ts';
import type { Change } from '../../../src/testing/api-server/etcd.ts';
import type { SimulatedApiServer } from '../../../src/testing/api-server/simulated-api-server.ts';
import type { Simulation } from '../../../src/testing/simulation.ts';
import { type ChangeEntry, targetOf, verbOf } from '../entry.ts';
import type { History } from '../history.ts';

/** What stands in the header {@link senderHeader} of each request of a replica. */
const senderHeader = 'x-simulated-request';
/** What replicas are shown of others is of no interest to any promise. */
const observed = new Set(['pods', 'ats', 'leases', 'configmaps', 'secrets']);
/** Of these, the answers to reads alone. */
const read = new Set(['configmaps', 'secrets']);

interface Sent {
  readonly replica: string;
  readonly sentAt: number;
}

/** A request of a replica, for a fault that aims at it. */
export interface OwnRequest {
  readonly replica: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

/** Asked at three points of each request of a replica. */
export interface Strikes {
  /** Before it leaves; true: it does not. */
  before(request: OwnRequest): boolean;
  /** The API server has done it, and has not answered yet. */
  committed(request: OwnRequest): void;
  /** The answer has arrived, and nothing has followed from it yet. */
  replied(request: OwnRequest): void;
}

export class Recorder {
  requests = 0;
  /** Changes are counted so that a run without any can be seen. */
  changes = 0;
  readonly #history: History;
  readonly #simulation: Simulation;
  readonly #sent = new Map<string, Sent>();
  readonly #strikes: Strikes;
  readonly #texts = new Map<string, object | undefined>();
  #serial = 0;
  #by: ChangeEntry['by'];

  constructor(history: History, simulation: Simulation, strikes: Strikes) {
    this.#history = history;
    this.#simulation = simulation;
    this.#strikes = strikes;
    simulation.afterStep(() => {
      this.#by = undefined;
    });
  }

  /** @param ahead ms by which the wall clock of the replica is ahead of true time. */
  observe(replica: string, open: OpenConnection, ahead: () => number): OpenConnection {
    return (endpoint) => {
      const connection = open(endpoint);
      return {
        endpoint,
        dispatch: (options, handler) => {
          const own = { replica, method: options.method, target: options.path };
          if (this.#strikes.before(own)) return;
          const id = String(++this.#serial);
          const headers = [...(options.headers as string[]), senderHeader, id];
          const resource = targetOf(options.path.split('?', 1)[0] ?? '')?.resource ?? '';
          const observer = new ObservedExchange(handler, {
            started: () => {
              this.#sent.set(id, { replica, sentAt: this.#simulation.now });
              this.#history.replica(replica).clockAhead = ahead();
            },
            ...(observed.has(resource) && {
              shown: (text, isWatch) => this.#show(own, resource, text, isWatch),
            }),
            replied: () => this.#strikes.replied(own),
          });
          connection.dispatch({ ...options, headers }, observer);
        },
        break: () => connection.break(),
        close: () => connection.close(),
      };
    };
  }

  /** A server is about to do a request: changes of this turn are its. */
  begins(request: ApiRequest): void {
    const { replica, sentAt } = this.#senderOf(request);
    this.#by = { replica, sentAt, user: request.user };
  }

  /** Has the changes that controllers, nodes and people make through this instance known as theirs. */
  attribute(instance: SimulatedApiServer): void {
    const request = instance.request.bind(instance);
    instance.request = (user, ...rest) => {
      this.acts(user);
      return request(user, ...rest);
    };
  }

  /** A client that is no replica acts in this turn. */
  acts(user: string): void {
    this.#by = { replica: undefined, sentAt: this.#simulation.now, user };
  }

  answered(request: ApiRequest, answer: ApiAnswer): void {
    this.requests++;
    const { replica, sentAt } = this.#senderOf(request);
    const { user, query, headers, body } = request;
    if (replica !== undefined) this.#sent.delete(headers[senderHeader] ?? '');
    const target = targetOf(request.path);
    if (target === undefined) return;
    const { group, resource, subresource, namespace, name } = target;
    // Field by field: a spread costs more here than most promises that look at the entry.
    this.#history.add({
      type: 'request',
      time: this.#simulation.now,
      group,
      resource,
      subresource,
      namespace,
      name,
      sentAt,
      replica,
      user,
      query,
      body,
      verb: verbOf(request.method, target, query),
      contentType: headers['content-type'] ?? '',
      code: answer.code,
      answer: answer.body,
    });
    if (replica !== undefined) {
      this.#strikes.committed({ replica, method: request.method, target: request.path });
    }
  }

  changed({ type, resource, object, previous }: Change): void {
    this.changes++;
    this.#history.add({
      type: 'change',
      time: this.#simulation.now,
      change: type,
      resource: resource.plural,
      object,
      previous,
      by: this.#by,
    });
  }

  #senderOf({ headers }: ApiRequest): { replica: string | undefined; sentAt: number } {
    const sent = this.#sent.get(headers[senderHeader] ?? '');
    return sent ?? { replica: undefined, sentAt: this.#simulation.now };
  }

  #show(
    { replica, method }: { readonly replica: string; readonly method: string },
    resource: string,
    text: string,
    isWatch: boolean,
  ): void {
    if (isWatch && read.has(resource)) return;
    const isWritten = method !== 'GET';
    const show = (object: KubernetesObject, gone: boolean) => {
      if (object.metadata?.uid === undefined) return;
      const time = this.#simulation.now;
      this.#history.add({ type: 'seen', time, replica, resource, object, gone, isWritten });
    };
    const json = this.#parsed(text);
    if (json === undefined) return;
    if (isWatch) {
      const { type, object } = json as { type: string; object: KubernetesObject };
      if (type !== 'ERROR' && type !== 'BOOKMARK') show(object, type === 'DELETED');
      return;
    }
    const { items } = json as { items?: readonly KubernetesObject[] };
    for (const object of items ?? [json as unknown as KubernetesObject]) show(object, false);
  }

  /** The same text comes to several watches and replicas. */
  #parsed(text: string): object | undefined {
    if (this.#texts.size >= keptTexts) this.#texts.clear();
    if (!this.#texts.has(text)) this.#texts.set(text, parsed(text));
    return this.#texts.get(text);
  }
}

/** So many texts are remembered with what they say. */
const keptTexts = 1000;

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface ExchangeListener {
  readonly started: () => void;
  /** A whole answer, or one line of a watch; undefined: the texts are of no interest. */
  readonly shown?: (text: string, isWatch: boolean) => void;
  readonly replied: () => void;
}

/** One request on a connection, with an observer. */
class ObservedExchange implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #listener: ExchangeListener;
  #code = 0;
  #text = '';
  #isGivenUp = false;

  constructor(handler: Dispatcher.DispatchHandler, listener: ExchangeListener) {
    this.#handler = handler;
    this.#listener = listener;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
    this.#listener.started();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    code: number,
    headers: Record<string, string | string[] | undefined>,
    message?: string,
  ): void {
    this.#code = code;
    this.#handler.onResponseStart?.(controller, code, headers as never, message);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { shown } = this.#listener;
    if (shown !== undefined && (this.#code === 200 || this.#code === 201))
      this.#take(chunk.toString(), shown);
    this.#handler.onResponseData?.(controller, chunk);
  }

  /** Whole lines of a watch are shown at once. */
  #take(text: string, shown: NonNullable<ExchangeListener['shown']>): void {
    this.#text += text;
    if (!text.includes('\n')) return;
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      // A reader gives a watch up at a line that is none, and at an error.
      this.#isGivenUp ||= line !== '' && (!line.endsWith('}') || line.startsWith('{"type":"ERROR"'));
      if (this.#isGivenUp) return;
      // A bookmark shows nothing.
      if (line !== '' && !line.startsWith('{"type":"BOOKMARK"')) shown(line, line.startsWith('{"type":'));
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: never): void {
    if (this.#text !== '' && !this.#isGivenUp)
      this.#listener.shown?.(this.#text, this.#text.startsWith('{"type":'));
    this.#handler.onResponseEnd?.(controller, trailers);
    this.#listener.replied();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error);
  }
}
