/** Session: a command's way to the Ats of a cluster, with errors that say what to do. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { ApiError, isNotFound } from '../../runtime/client/api-error.ts';
import { type Cluster, withCluster } from '../cluster/cluster.ts';
import type { Call } from '../program/command.ts';
import { Failure } from '../program/exit.ts';
import type { Viewpoint } from '../time/local.ts';

export interface Session extends Cluster {
  readonly call: Call;
  /** @throws {Failure} when there is no such At. */
  get(name: string): Promise<At>;
  /** The operator's time, and this machine's zone. */
  viewpoint(): Viewpoint;
  /** A line of standard output. */
  say(line: string): void;
  /** A line of standard error. */
  remark(line: string): void;
}

export function withSession(call: Call, use: (session: Session) => Promise<number>): Promise<number> {
  const { host } = call;
  return withCluster(call, async (cluster) => {
    const { client, namespace, clock } = cluster;
    const session: Session = {
      ...cluster,
      call,
      get: (name) => client.get(ats, { namespace, name }, { signal: host.signal }),
      viewpoint: () => ({ now: clock.now(), zone: host.zone }),
      say: (line) => host.output.write(`${line}\n`),
      remark: (line) => host.errors.write(`${line}\n`),
    };
    try {
      return await use(session);
    } catch (error) {
      throw explained(error, namespace);
    }
  });
}

/** Of a 404 the sentence that says what is missing. */
function explained(error: unknown, namespace: string): unknown {
  if (!isNotFound(error) || !(error instanceof ApiError)) return error;
  const { details } = error.status;
  if (details?.kind === ats.plural && details.name !== undefined) {
    const place = `the namespace ${namespace}`;
    return new Failure(`there is no At "${details.name}" in ${place}; kubectl at list -A shows those of all`);
  }
  if (details?.name !== undefined) return error;
  return new Failure(
    'the cluster does not know the kind At: install atwatch first; kubectl at doctor says what is missing',
  );
}
