/** HTTPS status: what a server with a certificate of its own answers to who shows a token. */
import { get } from 'node:https';

export function httpsStatus(url: string, token?: string): Promise<number | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = { headers, rejectUnauthorized: false, agent: false, timeout: 20_000 };
    get(url, options, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}
