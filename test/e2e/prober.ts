/**
 * Prober: a client that asks Services all the time, 100 requests a second and a connection for each, and keeps every
 * answer. It goes through the NodePorts, so that what routes its requests is the kube-proxy of the node.
 */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Service } from '../../src/kubernetes/types/core.generated.ts';
import { eventually, kubectl, type Namespace } from './kubectl.ts';

const intervalMs = 10;
/** A request that takes longer has failed. */
const timeoutMs = 5000;

export interface Answer {
  /** Name of the Service. */
  readonly service: string;
  readonly text: string;
}

export class Prober {
  readonly answers: Answer[] = [];
  /** What went wrong with requests that got no answer. */
  readonly failures: Answer[] = [];
  readonly #targets: readonly [service: string, url: string][];
  readonly #begun = performance.now();
  readonly #timer: NodeJS.Timeout;
  #asked = 0;

  private constructor(targets: readonly [string, string][]) {
    this.#targets = targets;
    this.#timer = setInterval(() => this.#askDue(), intervalMs);
  }

  /** Asks the Services of the namespace in turn until the end of the test; resolves once each has answered. */
  static async start(
    t: { after(end: () => void): void },
    namespace: Namespace,
    services: readonly string[] = ['webapp'],
  ): Promise<Prober> {
    const address = await kubectl([
      ...['get', 'nodes'],
      '--output=jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
    ]);
    const { items } = await namespace.getJson<{ items: Service[] }>('services');
    const targets = services.map((name): [string, string] => {
      const service = items.find(({ metadata }) => metadata.name === name);
      return [name, `http://${address}:${service?.spec?.ports?.[0]?.nodePort}/`];
    });
    const prober = new Prober(targets);
    t.after(() => prober.stop());
    await eventually('each Service answers', async () =>
      services.every((name) => prober.answers.some(({ service }) => service === name)),
    );
    return prober;
  }

  /** How many requests a second got an answer or failed. */
  get rate(): number {
    const done = this.answers.length + this.failures.length;
    return (done * 1000) / (performance.now() - this.#begun);
  }

  /** The distinct texts of the answers. */
  get texts(): Set<string> {
    return new Set(this.answers.map(({ text }) => text));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when so many more requests are answered or have failed. */
  async asks(more: number): Promise<void> {
    const count = () => this.answers.length + this.failures.length;
    const enough = count() + more;
    await eventually(`${more} more requests`, async () => count() >= enough);
  }

  /** Resolves when the last answers all have this text. */
  async servesOnly(text: string): Promise<void> {
    await eventually(`only ${text} is served`, async () =>
      this.answers.slice(-100).every((answer) => answer.text === text),
    );
  }

  /** Those that are due: a busy machine may keep the timer waiting. */
  #askDue(): void {
    const due = Math.floor((performance.now() - this.#begun) / intervalMs);
    while (this.#asked < due) void this.#ask(this.#asked++);
  }

  async #ask(index: number): Promise<void> {
    const [service, url] = this.#targets[index % this.#targets.length] ?? ['', ''];
    try {
      this.answers.push({ service, text: await get(url) });
    } catch (error) {
      this.failures.push({ service, text: `request ${index}: ${(error as Error).message}` });
    }
  }
}

/** Over a connection of its own; rejects unless the answer is 200 and whole in time. */
function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      text(response).then((answer) => resolve(answer.trimEnd()), reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}
