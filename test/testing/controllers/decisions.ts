/** Objects for the tests of decisions, with only the fields that matter. */
import assert from 'node:assert/strict';
import type { KubernetesObject, OwnerReference } from '../../../src/kubernetes/objects.ts';
import { formatTime } from '../../../src/kubernetes/time.ts';
import type { WriteAnswer } from '../../../src/testing/cluster-ports.ts';
import type { Plan } from '../../../src/testing/controllers/controller.ts';
import type { Pod } from '../../../src/testing/objects.ts';

export const now = Date.UTC(2030, 0, 1, 12);

export interface PodFields {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner?: OwnerReference;
  readonly node?: string;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** Seconds for which it has been ready; undefined: it is not. */
  readonly readyFor?: number;
  /** Seconds. */
  readonly age?: number;
  readonly restarts?: number;
  readonly terminating?: boolean;
}

export function pod(name: string, fields: PodFields = {}): Pod {
  const { labels = { app: 'web' }, annotations, owner, node, phase = 'Running', readyFor, age = 60 } = fields;
  const ready = {
    type: 'Ready',
    status: 'True',
    lastTransitionTime: formatTime(now - (readyFor ?? 0) * 1000),
  };
  return {
    metadata: {
      name,
      namespace: 'test',
      uid: `${name}-uid`,
      labels,
      creationTimestamp: formatTime(now - age * 1000),
      ...(annotations && { annotations }),
      ...(owner && { ownerReferences: [owner] }),
      ...(fields.terminating && { deletionTimestamp: formatTime(now) }),
    },
    spec: { containers: [], ...(node && { nodeName: node }) },
    status: {
      phase,
      conditions: readyFor === undefined ? [] : [ready],
      containerStatuses: [{ name: 'main', restartCount: fields.restarts ?? 0 }],
    },
  };
}

/** What a plan writes, as `verb name`. */
export function writesOf({ batches = [] }: Plan): readonly string[] {
  return batches.flat().map(({ verb, object: { metadata } }) => {
    const { name, generateName } = metadata;
    return `${verb} ${name || generateName}`;
  });
}

/** The object that a plan writes as status; fails where it writes none. */
export function statusOf<T extends KubernetesObject>(plan: Plan, failure?: WriteAnswer): T {
  const write = plan.status?.(failure);
  assert.ok(write, 'a status is written');
  return write.object as T;
}
