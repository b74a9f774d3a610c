/**
 * Reloader: what the annotations of Stakater Reloader ask for. The rules are those of its code and not of its README
 * where the two differ: a cluster that moves over keeps its behaviour. What has no equivalent is a remark, never a guess.
 * Pure.
 */
import type { ConfigWatcherSpecSourceKind } from '../../api/configwatcher.generated.ts';
import { type Pattern, parsePattern } from './pattern.ts';
import { type Reference, referencesOf, sourceOf } from './references.ts';
import type { Options, Source, Wish } from './wish.ts';
import { type Annotations, alertVariable, hasReloaderAnnotation, type Workload } from './workload.ts';

type Kind = ConfigWatcherSpecSourceKind;

const domain = 'reloader.stakater.com';

/** The ConfigMaps and Secrets of the namespace. */
export interface PresentSources {
  /** What the source says of itself; undefined: it does not exist. */
  find(kind: Kind, name: string): { readonly match: boolean; readonly ignore: boolean } | undefined;
  names(kind: Kind): readonly string[];
}

export interface ReloaderContext {
  /** Of the workload: Deployment, StatefulSet or DaemonSet. */
  readonly workloadKind: string;
  readonly autoReloadAll: boolean;
  readonly secretAccess: boolean;
  readonly present: PresentSources;
  /** What its ConfigWatcher watches already. */
  readonly watched: readonly Source[];
}

/** A list of names and patterns is not longer than this, in characters: each is matched with each name there is. */
const maxList = 2048;

/** What is asked for of the sources of one kind. */
interface Ask {
  readonly kind: Kind;
  readonly listed: readonly Listed[];
  readonly excluded: ReadonlySet<string>;
  readonly search: boolean;
  readonly auto: boolean;
  readonly remarks: readonly string[];
}

interface Listed {
  readonly text: string;
  readonly matches: Pattern;
}

/** What Reloader's annotations ask for; undefined where they ask for nothing, and there is nothing to remark. */
export function reloaderWish(workload: Workload, context: ReloaderContext): Wish | undefined {
  const asks = asksOf(workload, context.autoReloadAll);
  const references = referencesOf(workload.spec?.template?.spec);
  const sources = asks.flatMap((ask) => sourcesOf(ask, references, context));
  const hidden = context.secretAccess ? [] : sources.filter(({ kind }) => kind === 'Secret');
  const { options, remarks } = optionsOf(workload, context.workloadKind);
  const all = [
    ...asks.flatMap((ask) => ask.remarks),
    ...remarks,
    ...withoutEquivalent(workload, asks),
    ...(hidden.length > 0 || (!context.secretAccess && asksForSecrets(asks))
      ? ['Secrets are not watched: install the operator with --secret-access']
      : []),
  ];
  if (!asks.some(isAsking) && all.length === 0) return undefined;
  return { sources: sources.filter((source) => !hidden.includes(source)), options, remarks: all };
}

/** Whether the coming, the going or the annotations of this source may change what the workload watches. */
export function concerns(workload: Workload, kind: Kind, name: string, autoReloadAll: boolean): boolean {
  return asksOf(workload, autoReloadAll).some(
    (ask) =>
      ask.kind === kind &&
      (ask.listed.some(({ matches }) => matches(name)) ||
        ((ask.auto || ask.search) && isReferenced(workload, kind, name))),
  );
}

function isReferenced({ spec }: Workload, kind: Kind, name: string): boolean {
  return referencesOf(spec?.template?.spec).some((one) => one.kind === kind && one.name === name);
}

function asksOf({ metadata: { annotations = {} }, spec }: Workload, autoReloadAll: boolean): readonly Ask[] {
  const ofTemplate = spec?.template?.metadata?.annotations ?? {};
  return (['ConfigMap', 'Secret'] as const).map((kind) =>
    askOf(kind, annotations, ofTemplate, autoReloadAll),
  );
}

function askOf(kind: Kind, own: Annotations, ofTemplate: Annotations, autoReloadAll: boolean): Ask {
  const type = kind.toLowerCase();
  const [list, typed] = [`${type}.${domain}/reload`, `${type}.${domain}/auto`];
  const deciding = [list, typed, `${domain}/search`, `${domain}/auto`];
  // The Pod template speaks where the workload itself has none of the four; what is excluded the workload alone says.
  const annotations = deciding.some((name) => Object.hasOwn(own, name)) ? own : ofTemplate;
  const values = [annotations[`${domain}/auto`] ?? '', annotations[typed] ?? ''];
  return {
    ...readList(list, annotations[list] ?? ''),
    kind,
    excluded: new Set(split(own[`${type}s.exclude.${domain}/reload`])),
    search: annotations[`${domain}/search`] === 'true',
    auto: values.some(isTrue) || (autoReloadAll && values.every((value) => value === '')),
  };
}

/** As Go's strconv.ParseBool; anything else is false. */
function isTrue(value: string): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value);
}

function split(value = ''): readonly string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function readList(annotation: string, value: string): Pick<Ask, 'listed' | 'remarks'> {
  if (value.length > maxList) {
    const remark = `${annotation} has more than ${maxList} characters: write a shorter pattern, or a ConfigWatcher`;
    return { listed: [], remarks: [remark] };
  }
  const listed: Listed[] = [];
  const remarks: string[] = [];
  for (const text of split(value)) {
    try {
      listed.push({ text, matches: parsePattern(text) });
    } catch {
      remarks.push(
        `${annotation} has "${text}", which is no pattern: write names, or another regular expression`,
      );
    }
  }
  return { listed, remarks };
}

function isAsking({ listed, search, auto }: Ask): boolean {
  return listed.length > 0 || search || auto;
}

function asksForSecrets(asks: readonly Ask[]): boolean {
  return asks.some(({ kind, listed }) => kind === 'Secret' && listed.length > 0);
}

function sourcesOf(ask: Ask, references: readonly Reference[], context: ReloaderContext): readonly Source[] {
  const { kind, excluded } = ask;
  const isOut = (name: string) => excluded.has(name) || context.present.find(kind, name)?.ignore === true;
  const listed = listedNames(ask, context).filter((name) => !isOut(name));
  const automatic = references.filter(
    (reference) =>
      reference.kind === kind &&
      reference.used &&
      !isOut(reference.name) &&
      !listed.includes(reference.name) &&
      (ask.auto || (ask.search && context.present.find(kind, reference.name)?.match === true)),
  );
  // A listed source counts whole, and its absence keeps none of the others from being followed.
  return [...listed.map((name): Source => ({ kind, name, optional: true })), ...automatic.map(sourceOf)];
}

/**
 * What exists. A source that is listed by its name and watched already stays while it is gone, so that one which is
 * deleted and created with another content is compared with the old one.
 */
function listedNames({ kind, listed }: Ask, { present, watched }: ReloaderContext): readonly string[] {
  if (listed.length === 0) return [];
  const existing = present.names(kind).filter((name) => listed.some(({ matches }) => matches(name)));
  const kept = watched
    .filter((source) => source.kind === kind && listed.some(({ text }) => text === source.name))
    .map(({ name }) => name);
  return [...new Set([...existing, ...kept])].sort();
}

const pausePeriod = `deployment.${domain}/pause-period`;
const pausedAt = `deployment.${domain}/paused-at`;

function optionsOf(
  { metadata: { annotations = {} } }: Workload,
  workloadKind: string,
): { readonly options: Options; readonly remarks: readonly string[] } {
  const period = annotations[pausePeriod];
  const restarts = annotations[`${domain}/rollout-strategy`] === 'restart';
  // Without a change of the Pod template, which a GitOps tool would see as a difference.
  const strategy: Options = restarts ? { strategy: { type: 'Evict' } } : {};
  if (period === undefined) return { options: strategy, remarks: [] };
  if (workloadKind !== 'Deployment') {
    const remark = `${pausePeriod} is for Deployments alone: write k8spatterns.io/restart-options: {"cooldown": …}`;
    return { options: strategy, remarks: [remark] };
  }
  if (!/^(\d{1,6}([.]\d{1,6})?(ns|us|ms|s|m|h))+$/.test(period) || !/[1-9]/.test(period)) {
    return { options: strategy, remarks: [`${pausePeriod} is no positive duration: write one such as 5m`] };
  }
  return { options: { ...strategy, cooldown: { base: period, max: period } }, remarks: [] };
}

function withoutEquivalent({ metadata, spec }: Workload, asks: readonly Ask[]): readonly string[] {
  const { annotations = {} } = metadata;
  const { template, paused } = spec ?? {};
  const all = { ...template?.metadata?.annotations, ...annotations };
  const { containers = [], volumes = [] } = template?.spec ?? {};
  const classes =
    Object.keys(all).some(
      (key) => /^secretproviderclass(es)?\./.test(key) && hasReloaderAnnotation({ [key]: '' }),
    ) ||
    (asks.some(({ auto }) => auto) && volumes.some(({ csi }) => csi?.volumeAttributes?.secretProviderClass));
  const alerts = containers.some(({ env = [] }) => env.some(({ name }) => name === alertVariable));
  const paths = [
    paused === true && annotations[pausedAt] !== undefined
      ? `Reloader has paused this Deployment: kubectl rollout resume lets it go on, then remove ${pausedAt}`
      : undefined,
    classes
      ? 'a SecretProviderClass is not watched: have the driver sync it to a Secret (secretObjects), and list that Secret'
      : undefined,
    alerts
      ? 'alerts of Reloader are not sent any more: use the Events ConfigRestart, or the metrics of the operator'
      : undefined,
  ];
  return paths.filter((remark) => remark !== undefined);
}

/** What to write instead on a kind that no ConfigWatcher is made for; undefined without an annotation of Reloader. */
export function remarkOnKind(kind: string, annotations: Annotations | undefined): string | undefined {
  if (!hasReloaderAnnotation(annotations)) return undefined;
  switch (kind) {
    case 'CronJob':
      return 'a CronJob is not run again when its configuration changes: its next Job reads the new content by itself; kubectl create job --from=cronjob/… runs one now';
    case 'Job':
      return 'a Job is not run again when its configuration changes: create it again, or use a CronJob or an At';
    default:
      return `a ${kind} gets no ConfigWatcher of its own: write one with the labels of its Pods as podSelector and strategy Evict`;
  }
}
