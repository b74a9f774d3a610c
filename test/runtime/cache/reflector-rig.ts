/**
 * ReflectorRig: a reflector between a scripted API server and a target that writes down what it is told.
 */
import assert from 'node:assert/strict';
import { LoadSlots } from '../../../src/runtime/cache/load-slots.ts';
import { Reflector } from '../../../src/runtime/cache/reflector.ts';
import type { ReflectorTarget } from '../../../src/runtime/cache/reflector-target.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { apiError, ScriptedClient, type ScriptedWatch } from './scripted-client.ts';
import { added, initialEventsEnd, type Widget, widget, widgets } from './widget.ts';

/** Takes everything and writes down what it was told. */
export class Notebook implements ReflectorTarget<Widget> {
  position: string | undefined;
  readonly lines: string[] = [];

  get resumeFrom(): string | undefined {
    return this.position;
  }

  prepare(object: Widget): Widget | undefined {
    return object?.metadata?.name ? object : undefined;
  }

  replace(objects: Iterable<Widget>, resourceVersion: string | undefined): void {
    this.position = resourceVersion ?? this.position;
    const names = [...objects].map(({ metadata }) => metadata.name).join(' ');
    this.lines.push(`replace ${resourceVersion} ${names}`.trimEnd());
  }

  apply(type: string, { metadata }: Widget): boolean {
    const isNew = this.position !== metadata.resourceVersion;
    this.position = metadata.resourceVersion;
    this.lines.push(`${type} ${metadata.name} ${metadata.resourceVersion}`);
    return isNew;
  }

  advance(resourceVersion: string): void {
    this.position = resourceVersion;
    this.lines.push(`advance ${resourceVersion}`);
  }
}

class Counts {
  lists = 0;
  watches = 0;
  relists = 0;
  expirations = 0;
  listed = () => this.lists++;
  watched = () => this.watches++;
  relisted = () => this.relists++;
  expired = () => this.expirations++;
}

export const cut = new TransportError('socket hang up', true);
export const refusesInitialEvents = apiError(422, { message: 'sendInitialEvents: Forbidden' });

export class ReflectorRig {
  readonly clock = new FakeClock();
  readonly client = new ScriptedClient();
  readonly target = new Notebook();
  readonly counts = new Counts();
  readonly reflector: Reflector<Widget>;
  readonly #controller = new AbortController();
  readonly #running: Promise<void>;

  constructor(resource = widgets, loads?: LoadSlots) {
    this.reflector = new Reflector<Widget>({
      client: this.client,
      clock: this.clock,
      log: silentLogger,
      random: () => 0.5,
      resource,
      namespace: 'default',
      labelSelector: 'app=web',
      metadataOnly: false,
      target: this.target,
      counters: this.counts,
      loads: loads ?? new LoadSlots(this.clock),
    });
    this.#running = this.reflector.run(this.#controller.signal);
  }

  /** Resolves when the reflector has ended. */
  stop(): Promise<void> {
    this.#controller.abort(new Error('stop'));
    return this.#running;
  }

  async assertStopsClean(): Promise<void> {
    await this.stop();
    assert.equal(this.clock.pendingTimers, 0, 'a timer was left behind');
  }

  /** "a" is loaded by initial events of version 10; the watch goes on. */
  async loaded(): Promise<ScriptedWatch> {
    const watch = await this.client.nextWatch();
    await watch.accept(added({ name: 'a', rv: 5 }), initialEventsEnd(10));
    return watch;
  }

  /** "a" is loaded by a list of version 10; the request for the watch that follows is open. */
  async listed(): Promise<ScriptedWatch> {
    await (await this.client.nextWatch()).refuse(refusesInitialEvents);
    await (await this.client.nextList()).answer([widget({ name: 'a', rv: 5 })], '10');
    return await this.client.nextWatch();
  }

  /** Nothing is asked of the server before `delay` ms, and something then. */
  async assertWaits(delay: number): Promise<void> {
    await this.clock.advanceAsync(delay - 1);
    assert.equal(this.client.pending, 0, `a call came before ${delay} ms`);
    await this.clock.advanceAsync(1);
    await settle();
    assert.equal(this.client.pending, 1, `no call came after ${delay} ms`);
  }
}
