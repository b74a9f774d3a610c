/**
 * Prober: a client that asks Services all the time, 100 requests a second and a connection for each. It goes
 * through the NodePorts, so that what routes its requests is the kube-proxy of the node. It keeps counts and the first
 * failures alone, so that its memory does not grow.
 */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Service } from '../../src/kubernetes/types/core.generated.ts';
import { eventually, kubectl, type Namespace } from './kubectl.ts';

const intervalMs = 10;
/**
 * A request that takes longer has failed. A connection to a Pod that is gone never gets an answer; a busy machine may
 * take several seconds to give one, and that is no failure.
 */
const timeoutMs = 30_000;

/** So many failures of each Service are kept. */
const keptFailures = 5;

export class Prober {
  /** The distinct texts of the answers. */
  readonly texts = new Set<string>();
  /** What went wrong with the first requests of each Service that failed. */
  readonly #failures = new Map<string, string[]>();
  readonly #targets: readonly [service: string, url: string][];
  readonly #begun = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #inFlight = new Set<Promise<void>>();
  #asked = 0;
  #answered = 0;
  #failed = 0;
  /** The last answer, and how many in a row had its text. */
  #last = { text: '', count: 0 };

  private constructor(targets: readonly [string, string][]) {
    this.#targets = targets;
    this.#timer = setInterval(() => this.#askDue(), intervalMs);
  }

  /** Asks the Services of the namespace in turn until the end of the test; once every Pod behind them answers. */
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
    // A Pod may be Ready a moment before the node leads to it.
    for (const [name, url] of targets) await eventually(`all Pods of ${name} answer`, () => allAnswer(url));
    const prober = new Prober(targets);
    t.after(() => prober.stop());
    return prober;
  }

  get #done(): number {
    return this.#answered + this.#failed;
  }

  /** How many requests a second were made. */
  get rate(): number {
    return (this.#asked * 1000) / (performance.now() - this.#begun);
  }

  /**
   * Waits for the requests that are under way, and rejects with the first failures unless each request to the other
   * Services got an answer.
   */
  async hasNoFailures(except: ReadonlySet<string> = new Set()): Promise<void> {
    await Promise.all(this.#inFlight);
    const failures = [...this.#failures].filter(([service]) => !except.has(service));
    assert.deepEqual(failures, [], `${this.#failed} of ${this.#done} requests failed`);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when so many more requests are answered or have failed. */
  async asks(more: number): Promise<void> {
    const enough = this.#done + more;
    await eventually(`${more} more requests`, async () => this.#done >= enough);
  }

  /** Resolves when the last answers all have this text. */
  async servesOnly(text: string): Promise<void> {
    await eventually(
      `only ${text} is served`,
      async () => this.#last.text === text && this.#last.count >= 100,
    );
  }

  /** Those that are due: a busy machine may keep the timer waiting. */
  #askDue(): void {
    const due = Math.floor((performance.now() - this.#begun) / intervalMs);
    while (this.#asked < due) {
      const asking = this.#ask(this.#asked++).finally(() => this.#inFlight.delete(asking));
      this.#inFlight.add(asking);
    }
  }

  async #ask(index: number): Promise<void> {
    const [service, url] = this.#targets[index % this.#targets.length] ?? ['', ''];
    const begun = performance.now();
    try {
      this.#keepAnswer(await get(url));
    } catch (error) {
      const took = Math.round(performance.now() - begun);
      this.#keepFailure(service, `request ${index} after ${took} ms: ${(error as Error).message}`);
    }
  }

  #keepAnswer(text: string): void {
    this.#answered++;
    this.texts.add(text);
    this.#last = { text, count: text === this.#last.text ? this.#last.count + 1 : 1 };
  }

  #keepFailure(service: string, message: string): void {
    this.#failed++;
    const kept = this.#failures.get(service) ?? [];
    if (kept.length < keptFailures) this.#failures.set(service, [...kept, message]);
  }
}

/** Whether so many requests are answered soon that each of four Pods, which are chosen by chance, has got one. */
async function allAnswer(url: string): Promise<boolean> {
  const answers = await Promise.allSettled(Array.from({ length: 40 }, () => get(url, 2000)));
  return answers.every(({ status }) => status === 'fulfilled');
}

/** Over a connection of its own; rejects unless the answer is 200 and whole in time. */
function get(url: string, limitMs = timeoutMs): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, signal: AbortSignal.timeout(limitMs) }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      text(response).then((answer) => resolve(answer.trimEnd()), reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}
