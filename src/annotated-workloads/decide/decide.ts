/**
 * Decide: what becomes of the ConfigWatcher of one workload, as a ReplicaSet follows from a Deployment. Pure. A second
 * decision on what the first has made is empty.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher, ConfigWatcherSpec } from '../../api/configwatcher.generated.ts';
import { workloadAnnotation, workloadEvent } from '../../api/configwatcher-constants.ts';
import { readSpec } from '../../configwatcher/plan/spec.ts';
import { controllerOf, type Resource } from '../../kubernetes/objects.ts';
import { controllerRef, isControlledBy } from '../../kubernetes/owner.ts';
import { validateConfigWatcher } from '../../schema/validate.ts';
import { type PresentSources, reloaderWish } from '../plan/reloader.ts';
import { restartOnChangeWish, restartOptionsOf } from '../plan/restart-on-change.ts';
import { maxSources, watcherName, watcherSelector } from '../plan/watcher.ts';
import type { Invalid, Wish } from '../plan/wish.ts';
import type { Modes, Workload } from '../plan/workload.ts';

/** What is there beside the workload. */
export interface Found extends Modes {
  /** Of the workload. */
  readonly resource: Resource;
  /** The ConfigWatcher of the workload's name. */
  readonly watcher: ConfigWatcher | undefined;
  readonly present: PresentSources;
  readonly secretAccess: boolean;
}

export interface Action {
  readonly type: 'Create' | 'Update' | 'Delete';
  readonly watcher: ConfigWatcher;
}

/** About the workload, for people. */
export interface Warning {
  readonly reason: (typeof workloadEvent)[keyof typeof workloadEvent];
  readonly message: string;
}

export interface Decision {
  readonly action?: Action;
  readonly warning?: Warning;
}

export function decide(workload: Workload, found: Found): Decision {
  // What is owned goes with its owner; a watcher made now would come back from the dead.
  if (workload.metadata.deletionTimestamp !== undefined) return {};
  const asked = wishOf(workload, found);
  if (asked && 'invalid' in asked) return refused(asked.invalid);
  const spec = asked && asked.sources.length > 0 ? specOf(workload, asked) : undefined;
  if (spec && 'invalid' in spec) return refused(spec.invalid);
  const { watcher } = found;
  const isOwn = watcher !== undefined && isOwned(watcher, workload);
  const warning = asked && warningOf(workload, asked);
  if (!spec) return decision(isOwn ? { type: 'Delete', watcher } : undefined, warning);
  if (watcher && !isOwn) return taken(watcher, workload, found);
  return decision(applied(spec, workload, found), warning);
}

function decision(action: Action | undefined, warning: Warning | undefined): Decision {
  return { ...(action && { action }), ...(warning && { warning }) };
}

function isOwned(watcher: ConfigWatcher, { metadata: { uid = '' } }: Workload): boolean {
  return isControlledBy(watcher, uid);
}

function refused(message: string): Decision {
  return { warning: { reason: workloadEvent.invalidAnnotation, message } };
}

/** Our own annotation speaks alone where it is there. */
function wishOf(workload: Workload, found: Found): Wish | Invalid | undefined {
  const { metadata, spec } = workload;
  const own = restartOnChangeWish(workload, found);
  const asked = own ?? (found.reloaderAnnotations && spec ? reloaderWishOf(workload, found) : undefined);
  if (asked === undefined || 'invalid' in asked) return asked;
  const options = restartOptionsOf(metadata.annotations);
  return 'invalid' in options ? options : { ...asked, options: { ...asked.options, ...options } };
}

function reloaderWishOf(workload: Workload, found: Found): Wish | undefined {
  const { resource, watcher } = found;
  const watched = watcher && isOwned(watcher, workload) ? (watcher.spec.sources ?? []) : [];
  return reloaderWish(workload, { ...found, workloadKind: resource.kind, watched });
}

/** With its defaults, as the API server stores it. */
function specOf(workload: Workload, { sources, options }: Wish): ConfigWatcherSpec | Invalid {
  const selector = watcherSelector(workload);
  if (selector === undefined) {
    return { invalid: 'neither its selector nor its Pod template has a label, which a podSelector needs' };
  }
  if (sources.length > maxSources) {
    return {
      invalid: `it has ${sources.length} sources, and a ConfigWatcher has at most ${maxSources}: list those that matter`,
    };
  }
  const spec = { ...options, ...selector, sources };
  const read = readSpec(spec);
  if ('invalid' in read) return { invalid: `the ConfigWatcher it asks for is not valid: ${read.invalid}` };
  return validateConfigWatcher({ spec }).object.spec;
}

function warningOf(workload: Workload, { sources, remarks }: Wish): Warning | undefined {
  if (remarks.length > 0) return { reason: workloadEvent.reloaderAnnotation, message: remarks.join('; ') };
  const isOwn = workload.metadata.annotations?.[workloadAnnotation.restartOnChange] !== undefined;
  if (sources.length > 0 || !isOwn) return undefined;
  const message = `its Pod template refers to no ConfigMap, so ${workloadAnnotation.restartOnChange}: referenced watches nothing`;
  return { reason: workloadEvent.nothingToWatch, message };
}

/** One of a former workload of this name goes with that, and the deletion is an event for this one. */
function taken(watcher: ConfigWatcher, { metadata }: Workload, { resource }: Found): Decision {
  const owner = controllerOf(watcher);
  if (owner?.kind === resource.kind && owner.name === metadata.name) return {};
  const message = `the ConfigWatcher ${watcher.metadata.name} is not the operator's, so it is left alone: delete it, or create it again under another name`;
  return { warning: { reason: workloadEvent.configWatcherExists, message } };
}

function applied(
  spec: ConfigWatcherSpec,
  workload: Workload,
  { resource, watcher }: Found,
): Action | undefined {
  if (watcher)
    return isDeepStrictEqual(watcher.spec, spec)
      ? undefined
      : { type: 'Update', watcher: { ...watcher, spec } };
  const { namespace = '', name } = workload.metadata;
  const metadata = {
    ...{ namespace, name: watcherName(resource.kind, name) },
    ownerReferences: [controllerRef(resource, workload)],
  };
  return { type: 'Create', watcher: { metadata, spec } };
}
