/** HTTPS status: what a server answers to who shows a token, whatever its certificate is. */
import { get } from 'node:https';

/** @param ca in PEM, which has to have issued the certificate of the server. */
export function httpsStatus(url: string, token?: string, ca?: string): Promise<number | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = {
      headers,
      agent: false,
      timeout: 20_000,
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
    };
    get(url, options, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}
