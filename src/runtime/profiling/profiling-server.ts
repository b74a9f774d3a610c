/**
 * ProfilingServer: CPU profiles and heap snapshots of this process, in V8's formats, for Chrome's developer tools. A heap
 * holds every Secret that the process has read, so it is served on the loopback address alone, by its name: a web page
 * whose host name resolves to this address gets nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../clock.ts';
import {
  type HttpReply,
  HttpServer,
  ListenError,
  parseBindAddress,
  plainText,
  type StreamedReply,
} from '../http-server.ts';
import type { Logger } from '../logger.ts';
import { cpuProfile, defaultCpuSeconds, longestCpuSeconds } from './cpu-profile.ts';
import { heapSnapshot, mostHeap } from './heap-snapshot.ts';

export interface ProfilingServerOptions {
  /** `127.0.0.1:6060` or `[::1]:6060`; `0` switches it off. */
  readonly bindAddress: string;
  readonly clock: Clock;
  readonly log: Logger;
}

type Reply = HttpReply | StreamedReply;

/** @throws {ListenError} for an address that others than this machine reach. */
export function profilingServer({ bindAddress, clock, log }: ProfilingServerOptions): HttpServer {
  assertLoopback(bindAddress);
  let busy = false;
  const alone = async (take: () => Promise<Reply>): Promise<Reply> => {
    if (busy) return text(429, 'another profile is being taken: one at a time');
    busy = true;
    try {
      const reply = await take();
      if (typeof reply.body === 'string') busy = false;
      else {
        reply.body.once('close', () => {
          busy = false;
        });
      }
      return reply;
    } catch (error) {
      busy = false;
      throw error;
    }
  };
  return new HttpServer({
    ...{ name: 'profiles', bindAddress, log },
    handler: (path, query, headers) => {
      if (!isAskedByName(headers)) return text(403, 'ask for localhost, 127.0.0.1 or [::1]');
      if (path === '/debug/cpu') {
        const seconds = Number(query.get('seconds') ?? defaultCpuSeconds);
        if (!(seconds >= 1 && seconds <= longestCpuSeconds)) {
          return text(400, `seconds: a number from 1 to ${longestCpuSeconds}`);
        }
        log.warn({ seconds }, 'taking a CPU profile');
        return alone(async () => json(await cpuProfile(clock, seconds)));
      }
      if (path !== '/debug/heap') return undefined;
      return alone(async () => {
        const snapshot = await heapSnapshot(clock);
        if (snapshot === undefined) {
          return text(
            507,
            `the heap is larger than ${mostHeap >> 20} MB: a snapshot would stop this process`,
          );
        }
        log.warn({}, 'a heap snapshot was taken');
        return json(snapshot);
      });
    },
  });
}

/** @throws {ListenError} */
function assertLoopback(bindAddress: string): void {
  const where = parseBindAddress(bindAddress);
  if (where === undefined || isLoopback(where.host ?? '')) return;
  throw new ListenError(
    `cannot serve profiles on ${bindAddress}: a heap snapshot holds Secrets; choose 127.0.0.1 or [::1]`,
  );
}

function isLoopback(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host) || host === '::1';
}

function isAskedByName({ host = '' }: IncomingHttpHeaders): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host);
}

function text(status: number, sentence: string): HttpReply {
  return { status, contentType: plainText, body: `${sentence}\n` };
}

function json<B>(body: B) {
  return { status: 200, contentType: 'application/json', body };
}
