/**
 * Features: what a plan may draw from. Each plan switches a random half of them on: a run with a few kinds of
 * trouble goes further into each of them than one that has a little of all (swarm testing).
 */
import type { Random } from '../../../src/testing/random.ts';

export const atFeatures = [
  'at',
  'at-edit',
  'at-touch',
  'at-delete',
  'at-recreate',
  'at-suspend',
  'at-cancel',
  'at-retry',
  'at-exactly-once',
  'at-deadlines',
  'at-ttl',
  'at-template',
  'at-zone',
  'at-crowd',
  'at-stranger',
  'at-forge',
  'at-invalid',
  'at-image',
  'at-unschedulable',
  'at-cannot-start',
  'at-author',
] as const;

export const watcherFeatures = [
  'watcher',
  'watcher-edit',
  'watcher-revert',
  'watcher-storm',
  'watcher-idle-edit',
  'watcher-recreate-source',
  'watcher-bad-content',
  'watcher-suspend',
  'watcher-cooldown',
  'watcher-window',
  'watcher-keys',
  'watcher-sources',
  'watcher-new-source',
  'watcher-rollout',
  'watcher-upgrade',
  'watcher-delete-strategy',
  'watcher-scale',
  'watcher-bare-pods',
  'watcher-budget',
  'watcher-stateful',
  'watcher-owners',
  'watcher-daemon',
  'watcher-selector',
  'watcher-secret',
  'watcher-annotated',
  'watcher-of-workload',
  'watcher-paused',
  'watcher-on-delete',
  'watcher-rollout-pace',
  'watcher-options',
  'watcher-immutable',
  'watcher-abandon',
] as const;

export const faultFeatures = [
  'kill',
  'terminate',
  'sigstop',
  'suspend-machine',
  'clock-step',
  'clock-skew',
  'partition',
  'reset',
  'half-open',
  'bad-network',
  'kill-at-write',
  'write-meets',
  'send-meets',
  'late-create',
  'aimed',
  'refuse',
  'seats',
  'quota',
  'pod-quota',
  'pod-security',
  'restricted',
  'webhook-down',
  'rbac',
  'watch-meets',
  'stale-cache',
  'slow-cache',
  'server-down',
  'compact',
  'close-watches',
  'lease',
  'crd',
  'pod-deletes',
  'node-loss',
  'node-clock',
  'drain',
  'namespace',
  'unobserved-state',
  'stale-state',
  'intermediate-state',
] as const;

export type Feature =
  | (typeof atFeatures)[number]
  | (typeof watcherFeatures)[number]
  | (typeof faultFeatures)[number];

export function drawFeatures(random: Random): ReadonlySet<Feature> {
  const kinds = random.pick(['at', 'watcher', 'both'] as const);
  const some = <T extends Feature>(all: readonly T[], share: number): T[] =>
    all.filter(() => random.chance(share));
  const share = 0.2 + random.next() * 0.5;
  return new Set<Feature>(
    [
      ...(kinds === 'watcher' ? [] : ['at' as const, ...some(atFeatures, share)]),
      ...(kinds === 'at' ? [] : ['watcher' as const, ...some(watcherFeatures, share)]),
      // One in ten has no faults at all: what breaks there is the plainest.
      ...(random.chance(0.1) ? [] : faultsOf(random, some)),
    ].filter((feature) => isOfKind(feature, kinds)),
  );
}

/** Aimed ones are in every third plan: they are what reaches a state that does not last. */
function faultsOf(random: Random, some: (all: typeof faultFeatures, share: number) => Feature[]): Feature[] {
  const others = some(faultFeatures, 0.05 + random.next() * 0.4);
  return random.chance(0.3) ? ['aimed', ...others] : others;
}

function isOfKind(feature: Feature, kinds: 'at' | 'watcher' | 'both'): boolean {
  if (kinds === 'both') return true;
  return kinds === 'at' ? !feature.startsWith('watcher') : !/^at($|-)/.test(feature);
}
