/** Descriptors: how OLM's console shows and edits a field. Pure. */
import type { Schema } from '../../src/scaffold/crd.ts';

const ui = 'urn:alm:descriptor:com.tectonic.ui';
const kubernetes = 'urn:alm:descriptor:io.kubernetes';

/** Where the type of a field does not say enough. */
const special: Readonly<Record<string, readonly string[]>> = {
  'spec.configMap': [`${kubernetes}:ConfigMap`],
  'spec.podSelector': [`${ui}:selector:core:v1:Pod`],
  'status.phase': [`${kubernetes}.phase`],
  'status.conditions': [`${kubernetes}.conditions`],
  'status.podName': [`${kubernetes}:Pod`],
};

export interface Descriptor {
  readonly path: string;
  readonly displayName: string;
  readonly description: string;
  readonly 'x-descriptors'?: readonly string[];
}

/** One per field of the uppermost level. */
export function descriptors(
  part: 'spec' | 'status',
  properties: Readonly<Record<string, Schema>> = {},
): Descriptor[] {
  return Object.entries(properties).map(([path, schema]) => {
    const shown = special[`${part}.${path}`] ?? ofType(schema);
    return {
      path,
      displayName: displayName(path),
      description: schema.description ?? '',
      ...(shown.length > 0 && { 'x-descriptors': shown }),
    };
  });
}

function ofType({ type, enum: values }: Schema): readonly string[] {
  if (values) return values.map((value) => `${ui}:select:${value}`);
  switch (type) {
    case 'boolean':
      return [`${ui}:booleanSwitch`];
    case 'integer':
      return [`${ui}:number`];
    case 'string':
      return [`${ui}:text`];
    default:
      return [];
  }
}

/** In words: `ttlSecondsAfterFinished` is `Ttl Seconds After Finished`, and `podUID` is `Pod UID`. */
function displayName(path: string): string {
  const words = path.replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
