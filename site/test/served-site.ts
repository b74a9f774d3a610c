/** The built site, served on a port of its own, and a browser that looks at it. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import { serve } from 'vitepress';

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export interface ServedSite {
  /** Such as `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly page: Page;
  /** What the browser complained of, and each request that left the site or was refused. */
  readonly complaints: readonly string[];
  stop(): Promise<void>;
}

export async function serveSite(): Promise<ServedSite> {
  const app = await serve({ root: `${import.meta.dirname}/..`, port: 0 });
  const server = app.server as Server;
  if (!server.listening) await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? programs.find(existsSync) ?? 'chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(url) && !address.startsWith('data:')) complaints.push(`asks for ${address}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  return {
    ...{ url, page, complaints },
    async stop() {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
