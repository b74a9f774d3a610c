/**
 * API probe: single GET requests to the API server as its administrator, for waiting.
 */
import { request } from 'node:https';
import type { Pki } from './cluster-pki.ts';

/** One request may take this long, in milliseconds; the wait around it tries again. */
const requestLimit = 5000;

export interface ApiProbe {
  /** The body of the answer; undefined unless the status is 200. */
  get(path: string): Promise<string | undefined>;
}

export function createApiProbe(
  server: string,
  { authority, admin }: Pick<Pki, 'authority' | 'admin'>,
): ApiProbe {
  const credentials = { ca: authority, cert: admin.certificate, key: admin.key };
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        const options = { ...credentials, agent: false, timeout: requestLimit };
        const sent = request(`${server}${path}`, options, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () =>
            resolve(response.statusCode === 200 ? Buffer.concat(chunks).toString() : undefined),
          );
        });
        sent.once('timeout', () => sent.destroy(new Error(`no answer within ${requestLimit / 1000} s`)));
        sent.once('error', reject);
        sent.end();
      }),
  };
}
