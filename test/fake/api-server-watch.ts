/**
 * Watch of the fake API server: one open watch response, with everything a test may do to it.
 */
import type { ServerResponse } from 'node:http';
import { apiVersionOf, type KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Fault } from './api-server-faults.ts';
import { presented, revisionOf } from './api-server-reads.ts';
import type { FakeRequest, Target } from './api-server-request.ts';
import { type Match, matcher } from './api-server-selectors.ts';
import { expired, Failure } from './api-server-status.ts';
import { type Change, collectionOf, type FakeStore } from './api-server-store.ts';

export class FakeWatch {
  readonly request: FakeRequest;
  readonly target: Target;
  readonly #store: FakeStore;
  readonly #response: ServerResponse;
  readonly #matches: Match;
  #muted: boolean;
  readonly #chunkSize: number | undefined;

  /** @throws Failure when the query is not right; then nothing has been sent. */
  constructor(
    store: FakeStore,
    request: FakeRequest,
    target: Target,
    response: ServerResponse,
    fault: Fault | undefined,
  ) {
    const { query } = request;
    if (query.has('sendInitialEvents') && query.get('resourceVersionMatch') !== 'NotOlderThan') {
      const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
      throw new Failure(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: ${why}`);
    }
    this.request = request;
    this.target = target;
    this.#store = store;
    this.#response = response;
    this.#matches = matcher(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '');
    this.#muted = fault?.kind === 'mute';
    this.#chunkSize = fault?.kind === 'drip' ? fault.size : undefined;
    const resourceVersion = query.get('resourceVersion') ?? '';
    const from = resourceVersion === '' ? 0 : revisionOf(store, resourceVersion);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (fault?.kind === 'text') response.write(fault.text);
    this.#begin(from);
  }

  /** Bytes that the client has not taken yet. */
  get unsent(): number {
    return this.#response.writableLength + (this.#response.socket?.writableLength ?? 0);
  }

  /** A change of any resource. */
  show({ type, object, previous, resource }: Change): void {
    if (collectionOf(resource) !== collectionOf(this.target.resource)) return;
    const { namespace } = this.target;
    if (namespace !== '' && object.metadata.namespace !== namespace) return;
    const was = previous !== undefined && this.#matches(previous);
    const is = type !== 'DELETED' && this.#matches(object);
    if (is) this.send(was ? 'MODIFIED' : 'ADDED', object);
    else if (was) this.send('DELETED', object);
  }

  send(type: string, object: KubernetesObject): void {
    this.write(`${JSON.stringify({ type, object: presented(this.request, this.target, object) })}\n`);
  }

  /** A bookmark of the store's revision. */
  bookmark(annotations?: Readonly<Record<string, string>>): void {
    if (this.request.query.get('allowWatchBookmarks') !== 'true') return;
    const { resource } = this.target;
    const metadata = { resourceVersion: String(this.#store.revision), ...(annotations && { annotations }) };
    const object = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata };
    this.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  /** An ERROR event. */
  error(failure: Failure): void {
    this.write(`${JSON.stringify({ type: 'ERROR', object: failure.status })}\n`);
  }

  write(text: string): void {
    if (this.#muted || this.#response.destroyed) return;
    const bytes = Buffer.from(text);
    const size = this.#chunkSize ?? bytes.length;
    for (let start = 0; start < bytes.length; start += size)
      this.#response.write(bytes.subarray(start, start + size));
  }

  /** Says nothing any more, and does not end either. */
  mute(): void {
    this.#muted = true;
  }

  /** Ends as the server ends a watch whose time is over. */
  end(): void {
    this.#response.end();
  }

  /** The connection breaks. */
  cut(): void {
    this.#response.socket?.resetAndDestroy();
  }

  #begin(from: number): void {
    const initial = this.request.query.get('sendInitialEvents') === 'true';
    if (from === 0 || initial) {
      this.#sendAll();
      if (initial) this.bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else if (from < this.#store.compacted) {
      this.error(expired(String(from), this.#store.compacted));
      this.end();
    } else {
      for (const change of this.#store.since(from)) this.show(change);
    }
    const seconds = Number(this.request.query.get('timeoutSeconds') ?? 1800);
    const timer = setTimeout(() => this.end(), seconds * 1000).unref();
    this.#response.once('close', () => clearTimeout(timer));
  }

  #sendAll(): void {
    const { resource, namespace } = this.target;
    for (const object of this.#store.list(resource)) {
      const inScope = namespace === '' || object.metadata.namespace === namespace;
      if (inScope && this.#matches(object)) this.send('ADDED', object);
    }
  }
}
