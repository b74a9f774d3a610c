/**
 * Patch request: the body, content type and query with which a patch is sent.
 */
import { apiVersionOf, type Resource } from '../../kubernetes/objects.ts';
import type { HttpRequest } from './http-request.ts';
import { patchContentTypes } from './media-types.ts';
import type { Patch } from './patch.ts';
import type { QueryValue } from './resource-path.ts';

export interface PatchRequest extends Pick<HttpRequest, 'body' | 'contentType'> {
  readonly query: Readonly<Record<string, QueryValue>>;
}

/** @param fieldManager under which the server records the fields, unless it is an apply patch, which has its own. */
export function patchRequest(resource: Resource, patch: Patch, fieldManager: string): PatchRequest {
  const contentType = patchContentTypes[patch.type];
  if (patch.type === 'json') {
    return { body: JSON.stringify(patch.operations), contentType, query: { fieldManager } };
  }
  if (patch.type === 'merge')
    return { body: JSON.stringify(patch.body), contentType, query: { fieldManager } };
  // Without them the API server answers 400.
  const body = JSON.stringify({ ...patch.body, apiVersion: apiVersionOf(resource), kind: resource.kind });
  return { body, contentType, query: { fieldManager: patch.fieldManager, force: patch.force || undefined } };
}
