/** Media types of the Kubernetes REST API: how an answer is asked for, and what a patch's body is. */
import type { Patch } from './patch.ts';

/** The object with metadata only. */
export const metadataType = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** A list of objects with metadata only. */
export const metadataListType = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

export const patchContentTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // JSON is YAML.
  apply: 'application/apply-patch+yaml',
};
