/**
 * SubresourceClient: one subresource of one object, by the verbs that HTTP has. `scale` and `approval` are read and
 * updated, `eviction`, `token` and `binding` are created, and `log` is text.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { CallOptions, WriteOptions } from './call-options.ts';
import type { Patch } from './patch.ts';

/** autoscaling/v1.Scale. */
export interface Scale extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas: number; readonly selector?: string };
}

/** Parameters of the URL, such as `{ container: 'main', tailLines: 20 }` of `log`. */
export type SubresourceQuery = Readonly<Record<string, string | number | boolean | undefined>>;

/** A read with parameters. */
export interface SubresourceReadOptions extends CallOptions {
  readonly query?: SubresourceQuery;
}

/**
 * The client of one subresource of an object. It rejects as the methods of a Client do. Bodies are complete:
 * they say their own apiVersion and kind.
 */
export interface SubresourceClient<S extends object> {
  /** GET of an object. */
  get(options?: SubresourceReadOptions): Promise<S>;
  /** POST, as of an Eviction or a TokenRequest. */
  create(body: S, options?: WriteOptions): Promise<S>;
  /** PUT; `metadata.resourceVersion` makes it conditional. */
  update(body: S, options?: WriteOptions): Promise<S>;
  /** PATCH. An apply patch needs its apiVersion and kind. */
  patch(patch: Patch, options?: WriteOptions): Promise<S>;
  /** GET of a text, such as `log`, as a whole. */
  text(options?: SubresourceReadOptions): Promise<string>;
  /**
   * GET of a text while it arrives, such as `log` with `follow: true`. It ends when the reader leaves the loop, the
   * server ends it, or the signal is aborted; `timeout` is for its beginning. It holds a connection meanwhile, one of
   * those for watches.
   */
  stream(options?: SubresourceReadOptions): Promise<AsyncIterable<Buffer>>;
}
