/**
 * Precondition: the version that a write expects to find. The API server refuses a conditional write that finds
 * another one, so an answer with a new version comes from this write. Without a precondition an answer tells less:
 * a write that changes nothing is answered with whatever version is there.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { JsonPatchOperation, Patch } from './patch.ts';

/** The resourceVersion that the patch expects; undefined for an unconditional one. */
export function preconditionOf(patch: Patch): string | undefined {
  if (patch.type === 'json') return textOf(patch.operations.find(isVersionTest)?.value);
  const { metadata } = patch.body as { readonly metadata?: { readonly resourceVersion?: unknown } | null };
  return textOf(metadata?.resourceVersion);
}

/** Whether a write with this precondition has certainly made the version that it was answered with. */
export function isOwnVersion(precondition: string | undefined, { metadata }: KubernetesObject): boolean {
  return precondition !== undefined && precondition !== metadata.resourceVersion;
}

function isVersionTest({ op, path }: JsonPatchOperation): boolean {
  return op === 'test' && path === '/metadata/resourceVersion';
}

/** An empty version is no precondition. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
