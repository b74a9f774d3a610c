/**
 * Spec: what a ConfigWatcher asks for, checked and with every default filled in. The CRD's own rules refuse
 * bad specs at admission; they are applied here once more, because the book's CRD can be applied over ours
 * and lets nearly everything through.
 */
import {
  type ConfigWatcherSpec,
  type ConfigWatcherSpecSource,
  type ConfigWatcherSpecStrategy,
  configWatcherSpecDefaults as defaults,
} from '../../api/configwatcher.generated.ts';
import { parseDuration } from '../../kubernetes/duration.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';
import { problemText, validateConfigWatcher } from '../../schema/validate.ts';
import { type RestartStrategy, strategies } from './strategies.ts';
import { readWindow, type Window } from './window.ts';

/** No keys: all of them count. The absence of an optional source is a content of its own. */
export type WatchedSource = Required<ConfigWatcherSpecSource>;

export interface Strategy extends RestartStrategy {
  /** Of the Pods that an owner wants. */
  readonly maxUnavailable: { readonly percent: number } | { readonly count: number };
  /** Owners in the middle of a restart at the same time. */
  readonly maxOwners: number;
  /** The first restart of a content touches one owner alone. */
  readonly canary: boolean;
  /** Milliseconds; absent: what each owner says. */
  readonly minReady: number | undefined;
  /** Whether Pods without a controller are deleted although nothing brings them back. */
  readonly deleteUnmanaged: boolean;
  readonly deleteJobPods: boolean;
  /** Milliseconds. */
  readonly progressDeadline: number;
}

/** All spans in milliseconds. */
export interface WatcherSpec {
  /** In the order of the spec, `configMap` first; at least one. */
  readonly sources: readonly WatchedSource[];
  /** Without a label it selects nothing. */
  readonly selector: LabelSelector;
  readonly onlyReferencing: boolean;
  readonly suspend: boolean;
  readonly dryRun: boolean;
  readonly strategy: Strategy;
  readonly debounce: { readonly quiet: number; readonly max: number };
  readonly cooldown: { readonly base: number; readonly max: number };
  readonly restartOnDelete: boolean;
  /** Restarts start only inside one of them; none means always. */
  readonly windows: readonly Window[];
}

/** A spec that cannot be followed. The message names the field and the remedy, for people. */
export interface InvalidSpec {
  readonly invalid: string;
}

const maxMessageLength = 512;

/** Names each of them once, `configMap` first. */
function sourcesOf({ configMap, keys = [], sources = [] }: ConfigWatcherSpec): WatchedSource[] {
  const main =
    configMap === undefined ? [] : [{ kind: 'ConfigMap' as const, name: configMap, keys, optional: false }];
  return [
    ...main,
    ...sources.map(({ kind, name, keys: own = [], optional = false }) => ({
      kind,
      name,
      keys: own,
      optional,
    })),
  ];
}

function maxUnavailableOf(value: number | string): Strategy['maxUnavailable'] {
  return typeof value === 'number' ? { count: value } : { percent: Number.parseInt(value, 10) };
}

function strategyOf(given: ConfigWatcherSpecStrategy | undefined): Strategy {
  const strategy = { ...defaults.strategy, ...given };
  const { minReadySeconds } = strategy;
  return {
    ...strategies[strategy.type],
    maxUnavailable: maxUnavailableOf(strategy.maxUnavailable),
    maxOwners: strategy.maxOwners,
    canary: strategy.canary,
    minReady: minReadySeconds === undefined ? undefined : minReadySeconds * 1000,
    deleteUnmanaged: strategy.unmanagedPods === 'Delete',
    deleteJobPods: strategy.jobPods === 'Delete',
    progressDeadline: strategy.progressDeadlineSeconds * 1000,
  };
}

/** The rules let only durations through, and none with so many digits that it would be too long. */
function span(text: string): number {
  return parseDuration(text) ?? 0;
}

function watcherSpecOf(spec: ConfigWatcherSpec, windows: readonly Window[]): WatcherSpec {
  const debounce = { ...defaults.debounce, ...spec.debounce };
  const cooldown = { ...defaults.cooldown, ...spec.cooldown };
  return {
    sources: sourcesOf(spec),
    selector: { matchLabels: spec.podSelector, matchExpressions: spec.podSelectorExpressions ?? [] },
    onlyReferencing: spec.onlyReferencing === true,
    suspend: spec.suspend === true,
    dryRun: spec.dryRun === true,
    strategy: strategyOf(spec.strategy),
    debounce: { quiet: span(debounce.quiet), max: span(debounce.max) },
    cooldown: { base: span(cooldown.base), max: span(cooldown.max) },
    restartOnDelete: spec.onDelete === 'Restart',
    windows,
  };
}

/** Reads a spec of any shape. A message tells what is wrong where, and never repeats what stands there. */
export function readSpec(spec: unknown): WatcherSpec | InvalidSpec {
  if (spec === undefined || spec === null) return { invalid: 'spec is missing' };
  const { object, problems } = validateConfigWatcher({ spec });
  if (problems.length > 0) return { invalid: problemText(problems, maxMessageLength) };
  const windows = (object.spec.windows ?? []).map(readWindow);
  const wrong = windows.findIndex((window) => typeof window === 'string');
  if (wrong >= 0) return { invalid: `spec.windows[${wrong}].${windows[wrong]}` };
  return watcherSpecOf(
    object.spec,
    windows.filter((window) => typeof window !== 'string'),
  );
}
