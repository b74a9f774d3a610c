/**
 * Reloader: what the annotations of Stakater Reloader and of wave ask for, as ConfigWatchers. Pure.
 * What has no equivalent is a remark, never a guess.
 */
import type { ConfigWatcherSpec, ConfigWatcherSpecSource } from '../../api/configwatcher.generated.ts';
import type { PodSpec } from '../../kubernetes/objects.ts';
import type { PodTemplate, Workload } from '../cluster/resources.ts';

/** A workload, as far as it matters here. */
export interface AnnotatedWorkload {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly selector: NonNullable<Workload['spec']['selector']>;
  readonly template: PodTemplate;
}

export interface Imported {
  /** Undefined: it asks for nothing, or for nothing that can be watched. */
  readonly spec: ConfigWatcherSpec | undefined;
  /** Sentences about what is not taken over. */
  readonly remarks: readonly string[];
}

type Kind = ConfigWatcherSpecSource['kind'];
type Source = Pick<ConfigWatcherSpecSource, 'kind' | 'name' | 'optional'>;

/** The CRD takes no more. */
const mostSources = 16;
const reloader = 'reloader.stakater.com';

/** Annotations whose meaning is not taken over, and what to write instead. */
const withoutEquivalent: Readonly<Record<string, string>> = {
  [`${reloader}/search`]: 'name the sources in spec.sources',
  [`${reloader}/rollout-strategy`]: 'see spec.strategy.type',
  [`deployment.${reloader}/pause-period`]: 'see spec.cooldown.base',
  [`secretproviderclass.${reloader}/auto`]: 'a SecretProviderClass cannot be watched',
  [`secretproviderclass.${reloader}/reload`]: 'a SecretProviderClass cannot be watched',
};

export function fromReloader(workload: AnnotatedWorkload): Imported {
  // Reloader falls back to the Pod template's annotations.
  const annotations = { ...workload.template.metadata?.annotations, ...workload.annotations };
  const is = (name: string) => annotations[name] === 'true';
  if (is(`${reloader}/ignore`)) return { spec: undefined, remarks: [] };
  const used = referencedBy(workload.template.spec);
  const auto = is(`${reloader}/auto`);
  const named = { ConfigMap: namesIn(annotations, 'configmap'), Secret: namesIn(annotations, 'secret') };
  const excluded: Readonly<Record<Kind, readonly string[]>> = {
    ConfigMap: split(annotations[`configmaps.exclude.${reloader}/reload`]),
    Secret: split(annotations[`secrets.exclude.${reloader}/reload`]),
  };
  const automatic = used.filter(
    ({ kind, name }) =>
      (auto || is(`${kind.toLowerCase()}.${reloader}/auto`)) && !excluded[kind].includes(name),
  );
  const patterns = [...named.ConfigMap, ...named.Secret].filter((name) => !isName(name));
  const listed = (['ConfigMap', 'Secret'] as const).flatMap((kind) =>
    named[kind].filter(isName).map((name): Source => ({ kind, name })),
  );
  const remarks = [
    ...patterns.map((pattern) => `"${pattern}" is a pattern: name the sources that it means in spec.sources`),
    ...Object.entries(withoutEquivalent)
      .filter(([name]) => annotations[name] !== undefined)
      .map(([name, advice]) => `${name} is not taken over: ${advice}`),
  ];
  return imported(workload, [...listed, ...automatic], remarks);
}

/** wave restarts a workload when anything that it references changes. */
export function fromWave(workload: AnnotatedWorkload): Imported {
  if (workload.annotations['wave.pusher.com/update-on-config-change'] !== 'true') {
    return { spec: undefined, remarks: [] };
  }
  const extra = (['ConfigMap', 'Secret'] as const).flatMap((kind) =>
    split(workload.annotations[`wave.pusher.com/extra-${kind.toLowerCase()}s`]).map(
      (name): Source => ({ kind, name }),
    ),
  );
  const own = extra.filter(({ name }) => !name.includes('/'));
  const remarks = extra
    .filter(({ name }) => name.includes('/'))
    .map(({ name }) => `${name} is of another namespace: a ConfigWatcher watches its own alone`);
  return imported(workload, [...own, ...referencedBy(workload.template.spec)], remarks);
}

function imported(
  { selector }: AnnotatedWorkload,
  wanted: readonly Source[],
  remarks: readonly string[],
): Imported {
  const sources = [...new Map(wanted.map((source) => [`${source.kind}/${source.name}`, source])).values()];
  if (sources.length === 0) return { spec: undefined, remarks };
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length === 0) {
    return {
      spec: undefined,
      remarks: [...remarks, 'its selector has no matchLabels, which a podSelector needs'],
    };
  }
  const tooMany =
    sources.length > mostSources
      ? [
          `it has ${sources.length} sources, of which ${mostSources} are taken: make a second ConfigWatcher for the rest`,
        ]
      : [];
  const hasSecret = sources.some(({ kind }) => kind === 'Secret');
  return {
    spec: {
      podSelector: matchLabels,
      ...(matchExpressions.length > 0 && { podSelectorExpressions: matchExpressions }),
      sources: sources.slice(0, mostSources),
    },
    remarks: [
      ...remarks,
      ...tooMany,
      ...(hasSecret ? ['it watches Secrets, for which the operator needs --secret-access'] : []),
    ],
  };
}

function namesIn(annotations: Readonly<Record<string, string>>, kind: string): readonly string[] {
  return split(annotations[`${kind}.${reloader}/reload`]);
}

function split(value = ''): readonly string[] {
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function isName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

/** A reference to a ConfigMap or Secret in a PodSpec. */
interface Reference {
  readonly name?: string;
  readonly secretName?: string;
  readonly optional?: boolean;
}

/** What the containers of a Pod get from ConfigMaps and Secrets; optional where every reference is. */
export function referencedBy({ containers, initContainers = [], volumes = [] }: PodSpec): readonly Source[] {
  const all = [...initContainers, ...containers];
  const env = all.flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom));
  const envFrom = all.flatMap(({ envFrom = [] }) => envFrom);
  const mounted = volumes.flatMap((volume) => [volume, ...(volume.projected?.sources ?? [])]);
  const references: readonly (readonly [Kind, Reference | undefined])[] = [
    ...env.map((from) => ['ConfigMap', from?.configMapKeyRef] as const),
    ...env.map((from) => ['Secret', from?.secretKeyRef] as const),
    ...envFrom.map((from) => ['ConfigMap', from.configMapRef] as const),
    ...envFrom.map((from) => ['Secret', from.secretRef] as const),
    ...mounted.map(({ configMap }) => ['ConfigMap', configMap] as const),
    ...mounted.map(({ secret }) => ['Secret', secret] as const),
  ];
  const found = new Map<string, Source>();
  for (const [kind, reference] of references) {
    const name = reference?.name ?? reference?.secretName;
    if (name === undefined) continue;
    const key = `${kind}/${name}`;
    const isRequired = reference?.optional !== true || found.get(key)?.optional === false;
    found.set(key, { kind, name, optional: !isRequired });
  }
  return Array.from(found.values(), ({ optional, ...source }) =>
    optional ? { ...source, optional } : source,
  );
}
