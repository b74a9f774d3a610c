/** The plugin's pages, served with an API server behind them as Headlamp's server has it, and a browser that looks at them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from 'playwright-core';
import { preview } from 'vite';

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export interface ServedPages {
  /** A page of the cluster `main`, such as `/atwatch/ats`. */
  open(path: string): Promise<Page>;
  /** What the browser complained of. */
  readonly errors: readonly string[];
  stop(): Promise<void>;
}

/** @param kubeconfig of the cluster that is shown. */
export async function servePages(kubeconfig: string): Promise<ServedPages> {
  const api = await proxyTo(kubeconfig);
  const server = await preview({
    configFile: `${import.meta.dirname}/../harness/vite.config.ts`,
    preview: {
      host: '127.0.0.1',
      port: 0,
      proxy: {
        '/clusters/main': {
          target: api.url,
          changeOrigin: true,
          ws: true,
          rewrite: (path) => path.replace('/clusters/main', ''),
        },
      },
    },
  });
  const { port } = server.httpServer.address() as { port: number };
  const browser: Browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? programs.find(existsSync) ?? 'chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 1000 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  return {
    errors,
    async open(path) {
      await page.goto(`http://127.0.0.1:${port}/c/main${path}`);
      return page;
    },
    async stop() {
      await browser.close();
      await server.close();
      api.stop();
    },
  };
}

interface ApiProxy {
  readonly url: string;
  stop(): void;
}

async function proxyTo(kubeconfig: string): Promise<ApiProxy> {
  const child = spawn('kubectl', ['proxy', '--port=0'], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const address = /[\d.]+:\d+/.exec(String(line))?.[0];
  if (address === undefined) throw new Error(`kubectl proxy does not tell its address: ${line}`);
  return { url: `http://${address}`, stop: () => void child.kill() };
}
