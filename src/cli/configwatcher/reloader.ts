/**
 * Reloader: what the annotations of Stakater Reloader and of wave ask for, as ConfigWatchers. Pure.
 * What has no equivalent is a remark, never a guess.
 */
import { referencesOf, sourceOf } from '../../annotated-workloads/plan/references.ts';
import { type PresentSources, reloaderWish } from '../../annotated-workloads/plan/reloader.ts';
import { maxSources, watcherSelector } from '../../annotated-workloads/plan/watcher.ts';
import type { Source, Wish } from '../../annotated-workloads/plan/wish.ts';
import type { Workload } from '../../annotated-workloads/plan/workload.ts';
import type { ConfigWatcherSpec } from '../../api/configwatcher.generated.ts';

/** A workload, as far as it matters here. */
export interface AnnotatedWorkload {
  readonly kind: string;
  readonly workload: Workload;
}

export interface Imported {
  /** Undefined: it asks for nothing, or for nothing that can be watched. */
  readonly spec: ConfigWatcherSpec | undefined;
  /** Sentences about what is not taken over. */
  readonly remarks: readonly string[];
}

/** @param present the ConfigMaps and Secrets of the workload's namespace, which its patterns and searches mean. */
export function fromReloader({ kind, workload }: AnnotatedWorkload, present: PresentSources): Imported {
  const context = { workloadKind: kind, autoReloadAll: false, secretAccess: true, present, watched: [] };
  return imported(workload, reloaderWish(workload, context));
}

/** wave restarts a workload when anything that it references changes. */
export function fromWave({ workload }: AnnotatedWorkload): Imported {
  const { annotations = {} } = workload.metadata;
  if (annotations['wave.pusher.com/update-on-config-change'] !== 'true') return imported(workload, undefined);
  const extra = (['ConfigMap', 'Secret'] as const).flatMap((kind) =>
    split(annotations[`wave.pusher.com/extra-${kind.toLowerCase()}s`]).map(
      (name): Source => ({ kind, name }),
    ),
  );
  const own = extra.filter(({ name }) => !name.includes('/'));
  const remarks = extra
    .filter(({ name }) => name.includes('/'))
    .map(({ name }) => `${name} is of another namespace: a ConfigWatcher watches its own alone`);
  const references = referencesOf(workload.spec?.template?.spec).map(sourceOf);
  const sources = new Map([...references, ...own].map((source) => [`${source.kind}/${source.name}`, source]));
  return imported(workload, { sources: [...sources.values()], options: {}, remarks });
}

function imported(workload: Workload, wish: Wish | undefined): Imported {
  const { sources, options, remarks } = wish ?? { sources: [], options: {}, remarks: [] };
  if (sources.length === 0) return { spec: undefined, remarks };
  const selector = watcherSelector(workload);
  if (selector === undefined) {
    const remark = 'neither its selector nor its Pod template has a label, which a podSelector needs';
    return { spec: undefined, remarks: [...remarks, remark] };
  }
  const { length } = sources;
  const tooMany =
    length > maxSources
      ? [
          `it has ${length} sources, of which ${maxSources} are taken: make a second ConfigWatcher for the rest`,
        ]
      : [];
  const hasSecret = sources.some(({ kind }) => kind === 'Secret');
  return {
    spec: { ...selector, ...options, sources: sources.slice(0, maxSources) },
    remarks: [
      ...remarks,
      ...tooMany,
      ...(hasSecret ? ['it watches Secrets, for which the operator needs --secret-access'] : []),
    ],
  };
}

function split(value = ''): readonly string[] {
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
