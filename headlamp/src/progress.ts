/** Progress: how far a restart is with each owner of Pods. Pure. */
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';

export interface OwnerProgress {
  /** As in Deployment/web, or how many more there are. */
  readonly owner: string;
  /** How many of its Pods have the new content, and how many of these are Ready. */
  readonly restarted: number;
  readonly available: number;
  /** How many Pods it has to have; undefined where the status does not tell it. */
  readonly wanted?: number;
  readonly state: string;
}

export interface Progress {
  /** Pods with the new content, of those that the restart began with; undefined while none is under way. */
  readonly done?: { readonly restarted: number; readonly total: number };
  /** Those in the middle of a restart or, while there is none, those of the last one. */
  readonly owners: readonly OwnerProgress[];
}

/** `web-config`, `Secret/web-token`: what the spec names, in its order. */
export function sourcesOf({ spec }: ConfigWatcher): readonly string[] {
  const { configMap, sources = [] } = spec;
  const others = sources.map(({ kind, name }) => (kind === 'ConfigMap' ? name : `${kind}/${name}`));
  return [...(configMap === undefined ? [] : [configMap]), ...others];
}

/** @param pods those of the namespace. */
export function progressOf({ status }: ConfigWatcher, pods: readonly Pod[]): Progress {
  const { pending, stalePods = 0, lastRestart } = status ?? {};
  if (pending?.started === undefined) {
    const last = (lastRestart?.owners ?? []).map(
      ({ name, restarted = 0, available = 0, reason = '' }): OwnerProgress => {
        return { owner: name, restarted, available, state: reason };
      },
    );
    return { owners: last };
  }
  const total = Math.max(pending.total ?? 0, stalePods);
  const cutoff = parseTime(pending.cutoff ?? pending.started);
  const owners = (pending.owners ?? []).map(({ kind = '', name = '', wanted }): OwnerProgress => {
    const owner = `${kind}/${name}`;
    const own = pods.filter((pod) => ownerOf(pod) === owner && pod.metadata.deletionTimestamp === undefined);
    const fresh = own.filter(({ metadata }) => parseTime(metadata.creationTimestamp ?? '') > cutoff);
    const available = fresh.filter(isReady).length;
    const state = available >= wanted ? 'Available' : (pending.reason ?? '');
    return { owner, restarted: fresh.length, available, wanted, state };
  });
  return { done: { restarted: total - stalePods, total }, owners };
}

/** As status names it: the Deployment and not its ReplicaSet, whose name ends with the hash of the template. */
function ownerOf({ metadata }: Pod): string | undefined {
  const controller = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (controller === undefined) return undefined;
  const hash = metadata.labels?.['pod-template-hash'];
  const { kind, name } = controller;
  if (kind !== 'ReplicaSet' || hash === undefined || !name.endsWith(`-${hash}`)) return `${kind}/${name}`;
  return `Deployment/${name.slice(0, -hash.length - 1)}`;
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
