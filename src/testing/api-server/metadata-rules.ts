/**
 * Metadata rules: what the API server demands of the metadata of every object.
 */
import type { ObjectMeta, OwnerReference } from '../../kubernetes/objects.ts';
import { type FieldError, forbiddenValue, invalidValue } from './failure.ts';
import type { ServedResource } from './served-resource.ts';

const subdomain = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  longest: 253,
  says: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
};
const label = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  longest: 63,
  says: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
};
const labelValue = {
  pattern: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  longest: 63,
  says: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
};

type TextRule = typeof subdomain;

function textErrors({ pattern, longest, says }: TextRule, field: string, text: string): FieldError[] {
  const errors: FieldError[] = [];
  if (text.length > longest) errors.push(invalidValue(field, text, `must be no more than ${longest} bytes`));
  if (!pattern.test(text)) errors.push(invalidValue(field, text, says));
  return errors;
}

/** What is wrong with a name that must be a DNS label. */
export function labelNameErrors(field: string, text: string): FieldError[] {
  return textErrors(label, field, text);
}

/** What is wrong with the metadata. `old` is undefined for a create. */
export function metadataErrors(
  { plural, group }: ServedResource,
  metadata: ObjectMeta,
  old: ObjectMeta | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  if (old === undefined) {
    const rule = group === '' && (plural === 'namespaces' || plural === 'services') ? label : subdomain;
    errors.push(...textErrors(rule, 'metadata.name', metadata.name));
  }
  if (metadata.labels !== old?.labels) {
    for (const value of Object.values(metadata.labels ?? {})) {
      errors.push(...textErrors(labelValue, 'metadata.labels', value));
    }
  }
  if (metadata.ownerReferences !== undefined) errors.push(...ownerErrors(metadata.ownerReferences));
  if (old?.deletionTimestamp !== undefined) errors.push(...newFinalizerErrors(metadata, old));
  return errors;
}

function newFinalizerErrors({ finalizers = [] }: ObjectMeta, old: ObjectMeta): FieldError[] {
  const added = finalizers.filter((finalizer) => old.finalizers?.includes(finalizer) !== true);
  if (added.length === 0) return [];
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [forbiddenValue('metadata.finalizers', why)];
}

function ownerErrors(owners: readonly OwnerReference[]): FieldError[] {
  const errors: FieldError[] = [];
  const field = 'metadata.ownerReferences';
  for (const { apiVersion = '', kind = '', name = '', uid = '' } of owners) {
    if (apiVersion === '') errors.push(invalidValue(`${field}.apiVersion`, '', 'version must not be empty'));
    for (const [key, value] of Object.entries({ kind, name, uid })) {
      if (value === '') errors.push(invalidValue(`${field}.${key}`, value, 'must not be empty'));
    }
  }
  const controllers = owners
    .filter(({ controller }) => controller === true)
    .map(({ kind, name }) => `${kind}/${name}`);
  const [first, second] = controllers;
  if (second !== undefined) {
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
    errors.push(invalidValue(field, owners, why));
  }
  return errors;
}
