/** Restart write: one action that restarts a Pod or an owner, as it is sent and as it is spoken of. */
import { pods } from '../../kubernetes/objects.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Action } from '../decide/decision.ts';
import { workloadOf } from '../facts/workload.ts';

export interface RestartWrite {
  /** The right that it takes, as RBAC names it. */
  readonly right: string;
  /** For the log: what it is about, and what it comes to. */
  readonly target: object;
  readonly done: string;
  readonly gone: string;
  /** Meets only the object with the uid that the action names. */
  send(client: Client, namespace: string, signal: AbortSignal): Promise<unknown>;
}

export function restartWriteOf(action: Action): RestartWrite {
  switch (action.type) {
    case 'EvictPod': {
      const { name, uid } = action.pod;
      return {
        ...{ right: 'create pods/eviction', target: { pod: name } },
        ...{ done: 'evicted a Pod', gone: 'a Pod is gone already' },
        send: (client, namespace, signal) => client.evict({ namespace, name }, { uid, signal }),
      };
    }
    case 'DeletePod': {
      const { name, uid } = action.pod;
      return {
        ...{ right: 'delete pods', target: { pod: name } },
        ...{ done: 'deleted a Pod', gone: 'a Pod is gone already' },
        send: (client, namespace, signal) => client.delete(pods, { namespace, name }, { uid, signal }),
      };
    }
    case 'RestartRollout':
    case 'TakeBackRollout': {
      const { kind, name } = action.owner;
      return {
        right: `patch ${workloadOf(action.owner)?.plural ?? kind}`,
        target: { owner: `${kind} ${name}` },
        ...{ done: doneTo[action.type], gone: 'an owner is gone already' },
        send: (client, namespace, signal) => changeTemplate(client, namespace, action, signal),
      };
    }
  }
}

const doneTo = {
  RestartRollout: 'changed a Pod template',
  TakeBackRollout: 'set a Pod template back',
} as const;

/**
 * The uid cannot be changed, so a workload that was made again refuses the patch (422). The version keeps out the late
 * write of an operator that believes it leads: it would undo the change that another one has made for a later content,
 * and restart all Pods for the earlier one.
 */
async function changeTemplate(
  client: Client,
  namespace: string,
  { owner, version, annotations }: Extract<Action, { readonly annotations: object }>,
  signal: AbortSignal,
): Promise<unknown> {
  const resource = workloadOf(owner);
  if (!resource) throw new TypeError(`${owner.kind} ${owner.name} has no rollout to restart`);
  const metadata = { uid: owner.uid, ...(version !== undefined && { resourceVersion: version }) };
  const body = { metadata, spec: { template: { metadata: { annotations } } } };
  return client.patch(resource, { namespace, name: owner.name }, { type: 'merge', body }, { signal });
}
