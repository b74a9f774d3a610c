/** Restart-on-change: what the annotations `k8spatterns.io/restart-on-change` and `restart-options` say. Pure. */
import { configWatcherSchema } from '../../api/configwatcher.generated.ts';
import { workloadAnnotation } from '../../api/configwatcher-constants.ts';
import { referencesOf, sourceOf } from './references.ts';
import type { Invalid, Options, Source, Wish } from './wish.ts';
import type { Annotations, Workload } from './workload.ts';

const { restartOnChange, restartOptions } = workloadAnnotation;

/** What is asked for by our own annotation; undefined without it. */
export function restartOnChangeWish(
  { metadata: { annotations = {} }, spec }: Workload,
  { secretAccess }: { readonly secretAccess: boolean },
): Wish | Invalid | undefined {
  const value = annotations[restartOnChange];
  if (value === undefined) return undefined;
  if (value.trim() === 'referenced') {
    const references = referencesOf(spec?.template?.spec);
    const watched = references.filter(({ kind }) => kind === 'ConfigMap' || secretAccess);
    return { sources: watched.map(sourceOf), options: {}, remarks: [] };
  }
  const sources = new Map<string, Source>();
  for (const part of value.split(',')) {
    const source = listedSource(part.trim());
    if (source === undefined) {
      return { invalid: `${restartOnChange} must be "referenced" or a list such as configmap/a, secret/b` };
    }
    if (source.kind === 'Secret' && !secretAccess) {
      return { invalid: `${restartOnChange} names a Secret, for which the operator needs --secret-access` };
    }
    sources.set(`${source.kind}/${source.name}`, source);
  }
  return { sources: [...sources.values()], options: {}, remarks: [] };
}

function listedSource(text: string): Source | undefined {
  const [, kind, name = ''] = /^(configmap|secret)\/([a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/i.exec(text) ?? [];
  if (kind === undefined || name !== name.toLowerCase()) return undefined;
  return { kind: kind.toLowerCase() === 'secret' ? 'Secret' : 'ConfigMap', name };
}

/** What the annotations say themselves, or the workload does. */
const reserved = new Set(['configMap', 'keys', 'sources', 'podSelector', 'podSelectorExpressions']);

/** Further fields of the spec. Whether their values are legal is checked with the whole spec. */
export function restartOptionsOf(annotations: Annotations = {}): Options | Invalid {
  const text = annotations[restartOptions];
  if (text === undefined) return {};
  const options = parsed(text);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return { invalid: `${restartOptions} must be a JSON object with fields of a ConfigWatcher's spec` };
  }
  const taken = Object.keys(options).find((field) => reserved.has(field));
  if (taken !== undefined) {
    return { invalid: `${restartOptions} must not have ${taken}: it follows from the workload` };
  }
  const unknown = unknownField(specSchema, options, '');
  if (unknown !== undefined)
    return { invalid: `${restartOptions} has a field that no ConfigWatcher has: ${unknown}` };
  return options;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const specSchema = (configWatcherSchema as Schema).properties?.spec ?? {};

/** The path of a field that the schema does not have: the API server would drop it without a word. */
function unknownField({ properties, items }: Schema, value: unknown, path: string): string | undefined {
  if (Array.isArray(value) && items) {
    return value
      .map((item, index) => unknownField(items, item, `${path}[${index}]`))
      .find((found) => found !== undefined);
  }
  if (typeof value !== 'object' || value === null || properties === undefined) return undefined;
  for (const [name, field] of Object.entries(value)) {
    const here = path === '' ? name : `${path}.${name}`;
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const found = schema === undefined ? here : unknownField(schema, field, here);
    if (found !== undefined) return found.slice(0, 100);
  }
  return undefined;
}
