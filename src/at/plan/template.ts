/**
 * Template: the untyped part of an At, a PodTemplateSpec as the user wrote it. Only what this controller
 * itself has to touch is checked here; the API server checks the rest when it gets the Pod.
 */
import type { AtSpec } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import type { Cause } from './cause.ts';

/** A JSON object whose fields the operator does not know. */
export type Json = Readonly<Record<string, unknown>>;

export interface Template {
  readonly labels: Json;
  readonly annotations: Json;
  /** The PodSpec without its containers. */
  readonly spec: Json;
  /** The first one is the main container; empty when the template names none. */
  readonly containers: readonly Json[];
  readonly initContainers: readonly Json[];
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that the text is; undefined for no text, and for one that is none. */
export function parseJson(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an init container is a native sidecar, which runs beside the others. */
export function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === 'Always';
}

/** Reads the template of `spec`; an absent one is an empty one. */
export function readTemplate({ template = {} }: AtSpec): Template | Cause {
  const metadata = optional(template.metadata);
  const spec = optional(template.spec);
  const labels = optional(metadata?.labels);
  const annotations = optional(metadata?.annotations);
  if (spec === undefined || labels === undefined || annotations === undefined) {
    return refuse('template.metadata and template.spec must be those of a Pod template');
  }
  const { containers: mainContainers, initContainers: firstContainers, ...rest } = spec;
  const containers = listOf(mainContainers);
  const initContainers = listOf(firstContainers);
  if (containers === undefined || initContainers === undefined) {
    return refuse('template.spec.containers and initContainers must be lists of containers');
  }
  if (rest.restartPolicy === 'Always') {
    return refuse('template.spec.restartPolicy must not be Always: the command would never end');
  }
  // Of init containers one may be restarted for ever: that is what makes it a sidecar.
  if (
    containers.some((container) => (container.restartPolicy ?? container.restartPolicyRules) !== undefined)
  ) {
    return refuse(
      'template.spec.containers must not have a restartPolicy: backoffLimit says how often the command is started',
    );
  }
  return { labels, annotations, spec: rest, containers, initContainers };
}

function refuse(message: string): Cause {
  return { reason: atReason.invalidTemplate, message };
}

/** An absent object is an empty one; undefined for anything that is no object. */
function optional(value: unknown): Json | undefined {
  return value === undefined || value === null ? {} : isJson(value) ? value : undefined;
}

function listOf(value: unknown): readonly Json[] | undefined {
  if (value === undefined || value === null) {
    return [];
  }
  return Array.isArray(value) && value.every(isJson) ? value : undefined;
}
