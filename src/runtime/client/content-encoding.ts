/**
 * Content encoding: large answers of an API server may come compressed, which pays where a network lies between.
 */
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { TransportError } from './api-error.ts';
import type { ResponseHeaders } from './exchange.ts';

/** Whether the server is on this machine, where compression costs time and saves nothing. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** The bytes as they were before they were compressed. @throws {TransportError} when they cannot be had. */
export function decoded(stream: AsyncIterable<Buffer>, headers: ResponseHeaders): AsyncIterable<Buffer> {
  switch (headers['content-encoding'] ?? 'identity') {
    case 'identity':
      return stream;
    case 'gzip':
      return gunzipped(stream);
    default:
      throw new TransportError('the answer has a content encoding that was not asked for', true);
  }
}

async function* gunzipped(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  // What goes wrong on either side is the error of the reading.
  const chunks: AsyncIterable<Buffer> = pipeline(stream, createGunzip(), () => {});
  try {
    yield* chunks;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError('the answer cannot be decompressed', true, { cause: error });
  }
}
