/**
 * Raw requests to an API server, real or fake: what no client hides, in the order in which it comes.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';

export interface RawOptions {
  readonly body?: object | string;
  /** Default: that of a merge patch for PATCH, otherwise JSON. */
  readonly contentType?: string;
  readonly accept?: string;
  /** Asks as this user. */
  readonly user?: string;
}

/** A JSON answer. The fields are those of any object or Status. */
export interface RawAnswer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: rows look into answers of every kind
  readonly body: any;
}

/** One line of a watch. */
export interface RawEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: rows look into objects of every kind
  readonly object: any;
}

export interface RawWatch {
  readonly code: number;
  /** What has come so far. */
  readonly events: readonly RawEvent[];
  /** Resolves when enough has come; rejects after ten seconds, or when it ends before. */
  until(enough: (events: readonly RawEvent[]) => boolean): Promise<readonly RawEvent[]>;
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface RawRequests {
  send(method: string, target: string, options?: RawOptions): Promise<RawAnswer>;
  watch(target: string, options?: Pick<RawOptions, 'user' | 'accept'>): Promise<RawWatch>;
}

const limit = 10_000;

export async function rawRequests(kubeConfig: KubeConfig): Promise<RawRequests> {
  const server = new URL(kubeConfig.getCurrentCluster()?.server ?? '');
  const base: RequestOptions = {};
  if (server.protocol === 'https:') await kubeConfig.applyToHTTPSOptions(base);
  const open = (method: string, target: string, options: RawOptions): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { body, accept = 'application/json', user } = options;
      const contentType =
        options.contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
      const text = typeof body === 'object' ? JSON.stringify(body) : body;
      const send = server.protocol === 'https:' ? httpsRequest : httpRequest;
      const headers = {
        accept,
        'user-agent': 'conformance/1',
        // Without a length Node sends the body of a DELETE as one of no request.
        ...(text !== undefined && { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }),
        ...(user !== undefined && { 'impersonate-user': user }),
      };
      const request = send({
        ...base,
        host: server.hostname,
        port: server.port,
        method,
        path: target,
        headers: { ...base.headers, ...headers } as Record<string, string>,
      });
      request.on('response', resolve).on('error', reject);
      request.end(text);
    });
  return {
    async send(method, target, options = {}) {
      const response = await open(method, target, options);
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      return { code: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) };
    },
    async watch(target, options = {}) {
      return watching(await open('GET', target, options));
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function watching(response: IncomingMessage): RawWatch {
  const events: RawEvent[] = [];
  const listeners = new Set<() => void>();
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    events.push(...lines.filter((line) => line !== '').map((line): RawEvent => JSON.parse(line)));
    for (const listener of listeners) listener();
  });
  const ended = new Promise<void>((resolve) => response.on('close', resolve));
  return {
    code: response.statusCode ?? 0,
    events,
    ended,
    until: (enough) =>
      new Promise((resolve, reject) => {
        const over = () => {
          clearTimeout(timer);
          listeners.delete(look);
        };
        const fail = (why: string) => {
          over();
          reject(new Error(`${why}: ${JSON.stringify(events)}`));
        };
        const look = () => {
          if (!enough(events)) return;
          over();
          resolve(events);
        };
        const timer = setTimeout(() => fail('the watch did not bring what was expected'), limit);
        listeners.add(look);
        void ended.then(() => fail('the watch ended'));
        look();
      }),
    close: () => response.destroy(),
  };
}
