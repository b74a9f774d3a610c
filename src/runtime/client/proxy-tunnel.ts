/**
 * Proxy tunnel: a TCP connection to a target through the HTTP or HTTPS proxy of a kubeconfig's `proxy-url`,
 * opened with CONNECT.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';

export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/** @param timeout milliseconds for the whole opening. */
export function openTunnel(proxy: URL, target: TunnelTarget, timeout: number): Promise<Socket> {
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:') {
    return Promise.reject(new Error(`the proxy ${proxy.origin} is neither http nor https`));
  }
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  return new Promise((resolve, reject) => {
    const start = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = start({
      host: proxy.hostname,
      port: proxy.port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorization(proxy) },
      agent: false,
    });
    const timer = setTimeout(() => {
      request.destroy(new Error(`no tunnel through ${proxy.host} within ${timeout / 1000} s`));
    }, timeout);
    request.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.once('connect', (response, socket) => {
      clearTimeout(timer);
      if (response.statusCode === 200) {
        resolve(socket as Socket);
        return;
      }
      socket.destroy();
      reject(new Error(`the proxy ${proxy.host} answered ${response.statusCode} to CONNECT ${authority}`));
    });
    request.end();
  });
}

function authorization(proxy: URL): { 'proxy-authorization'?: string } {
  if (proxy.username === '') return {};
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
