/** Session: a command's way to the objects of one kind, with errors that say what to do. */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { ApiError, isNotFound } from '../../runtime/client/api-error.ts';
import type { Call } from '../program/command.ts';
import { Failure } from '../program/exit.ts';
import type { Viewpoint } from '../time/local.ts';
import { type Cluster, withCluster } from './cluster.ts';

export interface ObjectSession<T extends KubernetesObject> extends Cluster {
  readonly call: Call;
  readonly resource: Resource<T>;
  /** @throws {Failure} when there is no such object. */
  get(name: string): Promise<T>;
  /** The operator's time, and this machine's zone. */
  viewpoint(): Viewpoint;
  /** A line of standard output. */
  say(line: string): void;
  /** A line of standard error. */
  remark(line: string): void;
}

/** @param find the resource, which may depend on what the cluster serves. */
export function withObjects<T extends KubernetesObject>(
  call: Call,
  find: (cluster: Cluster) => Resource<T> | Promise<Resource<T>>,
  use: (session: ObjectSession<T>) => Promise<number>,
): Promise<number> {
  const { host } = call;
  return withCluster(call, async (cluster) => {
    const { client, namespace, clock } = cluster;
    const resource = await find(cluster);
    const session: ObjectSession<T> = {
      ...cluster,
      call,
      resource,
      get: (name) => client.get(resource, { namespace, name }, { signal: host.signal }),
      viewpoint: () => ({ now: clock.now(), zone: host.zone }),
      say: (line) => host.output.write(`${line}\n`),
      remark: (line) => host.errors.write(`${line}\n`),
    };
    try {
      return await use(session);
    } catch (error) {
      throw explained(error, session);
    }
  });
}

/** Of a 404 the sentence that says what is missing. */
function explained<T extends KubernetesObject>(error: unknown, session: ObjectSession<T>): unknown {
  if (!isNotFound(error) || !(error instanceof ApiError)) return error;
  const { resource, namespace, call } = session;
  const { details } = error.status;
  const { kind, plural } = resource;
  const program = call.program.name;
  if (details?.kind === plural && details.name !== undefined) {
    const missing = `there is no ${kind} "${details.name}" in the namespace ${namespace}`;
    return new Failure(`${missing}; ${program} list -A shows those of all`);
  }
  if (details?.name !== undefined) return error;
  return new Failure(
    `the cluster does not know the kind ${kind}: install atwatch first; ${program} doctor says what is missing`,
  );
}
