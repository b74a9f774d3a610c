/**
 * Text of an object: what is sent of it, made once per stored version however many requests and watches read it.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';

/** The forms in which an object is sent. */
export type Form = 'whole' | 'metadata';

const whole = new WeakMap<KubernetesObject, string>();
const partial = new WeakMap<KubernetesObject, string>();

/** The object as JSON in the version of this resource, or its metadata alone. */
export function textOf(object: KubernetesObject, resource: Resource, form: Form): string {
  if (form === 'metadata') return metadataText(object);
  const apiVersion = apiVersionOf(resource);
  if (object.apiVersion !== apiVersion) return JSON.stringify({ ...object, apiVersion });
  let text = whole.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    whole.set(object, text);
  }
  return text;
}

function metadataText(object: KubernetesObject): string {
  let text = partial.get(object);
  if (text === undefined) {
    const { metadata } = object;
    text = JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
    partial.set(object, text);
  }
  return text;
}

/** As {@link textOf}, without kind and apiVersion, which items of a built-in list do not say. */
export function untypedText(object: KubernetesObject, resource: Resource): string {
  const text = textOf(object, resource, 'whole');
  const prefix = `{"kind":${JSON.stringify(resource.kind)},"apiVersion":"${apiVersionOf(resource)}",`;
  return text.startsWith(prefix) ? `{${text.slice(prefix.length)}` : text;
}
