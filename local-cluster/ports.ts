/**
 * Ports: free TCP ports on loopback.
 *
 * They are taken below the range from which the kernel gives ports to outgoing connections, because any process
 * of the machine could be given such a port between our look and the server's start.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ClusterError } from './cluster-error.ts';

const range = { from: 20_000, to: 30_000 };
const tries = 100;

/** A port that nothing listens on now, chosen at random so that clusters started at once do not meet. */
export async function freePort(pick = () => randomInt(range.from, range.to)): Promise<number> {
  for (let n = 0; n < tries; n++) {
    const port = pick();
    if (await isFree(port)) {
      return port;
    }
  }
  throw new ClusterError(`found no free port on 127.0.0.1 in ${tries} tries`);
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
