/**
 * Watch of a simulated API server: one open watch response, with everything that may happen to it.
 */
import { apiVersionOf, type KubernetesObject } from '../../kubernetes/objects.ts';
import { type ApiRequest, type Responder, wantsMetadataOnly } from './api-message.ts';
import type { Change } from './etcd.ts';
import type { Failure } from './failure.ts';
import { type Form, textOf } from './object-text.ts';
import type { Target } from './route.ts';
import type { Match } from './selectors.ts';

/** What a watch shows. */
export interface WatchScope {
  readonly matches: Match;
  /** Changes up to this revision are not for it. */
  readonly from: number;
}

export class ApiWatch {
  readonly request: ApiRequest;
  readonly target: Target;
  /** Changes up to this revision are not for it. */
  from: number;
  /** Called once when the server ends it. */
  onOver: (() => void) | undefined;
  readonly #responder: Responder;
  readonly #matches: Match;
  readonly #form: Form;
  readonly #bookmarks: boolean;
  /** Text of a bookmark up to its revision. */
  #bookmark: string | undefined;
  #isMuted = false;
  #isOver = false;

  constructor(request: ApiRequest, target: Target, responder: Responder, { matches, from }: WatchScope) {
    this.request = request;
    this.target = target;
    this.#responder = responder;
    this.#matches = matches;
    this.from = from;
    this.#form = wantsMetadataOnly(request) ? 'metadata' : 'whole';
    this.#bookmarks = request.query.get('allowWatchBookmarks') === 'true';
  }

  /** Bytes that the client has not taken yet. */
  get unsent(): number {
    return this.#responder.unsent ?? 0;
  }

  /** A change of this watch's resource. */
  show({ type, object, previous, revision }: Change): void {
    if (revision <= this.from) return;
    const { namespace } = this.target;
    if (namespace !== '' && object.metadata.namespace !== namespace) return;
    const was = previous !== undefined && this.#matches(previous);
    const is = type !== 'DELETED' && this.#matches(object);
    if (is) this.send(was ? 'MODIFIED' : 'ADDED', object);
    else if (was) this.send('DELETED', type === 'DELETED' ? object : under(revision, previous));
  }

  /** Sends those of the objects that it selects, as added. */
  sendInitial(objects: readonly KubernetesObject[]): void {
    for (const object of objects) if (this.#matches(object)) this.send('ADDED', object);
  }

  send(type: string, object: KubernetesObject): void {
    this.write(`{"type":"${type}","object":${textOf(object, this.target.resource, this.#form)}}\n`);
  }

  bookmark(revision: number, annotations?: Readonly<Record<string, string>>): void {
    if (!this.#bookmarks) return;
    const { resource } = this.target;
    this.#bookmark ??= `{"type":"BOOKMARK","object":{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{"resourceVersion":"`;
    const more = annotations === undefined ? '' : `,"annotations":${JSON.stringify(annotations)}`;
    this.write(`${this.#bookmark}${revision}"${more}}}}\n`);
  }

  /** An ERROR event. */
  error(failure: Failure): void {
    this.write(`${JSON.stringify({ type: 'ERROR', object: failure.status })}\n`);
  }

  write(text: string): void {
    if (!this.#isMuted && !this.#isOver) this.#responder.write(text);
  }

  /** Says nothing any more, and does not end either. */
  mute(): void {
    this.#isMuted = true;
  }

  /** Ends as the server ends a watch whose time is over. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver?.();
    this.#responder.end();
  }

  /** The connection breaks. */
  cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver?.();
    this.#responder.cut();
  }
}

/** The last state that was selected, under the revision at which it is so no more. */
function under(revision: number, object: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}
