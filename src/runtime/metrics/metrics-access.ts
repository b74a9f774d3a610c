/**
 * Metrics access: who may read the metrics. As kube-rbac-proxy and controller-runtime do it, the API server is asked whose
 * token it is (TokenReview) and whether that user may `get` the path (SubjectAccessReview).
 */
import { createHash } from 'node:crypto';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';

interface Reviewed<Status> extends KubernetesObject {
  readonly spec: object;
  readonly status?: Status;
}

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const tokenReviews: Resource<Reviewed<{ readonly authenticated?: boolean; readonly user?: User }>> = {
  ...{ group: 'authentication.k8s.io', version: 'v1', namespaced: false },
  ...{ plural: 'tokenreviews', kind: 'TokenReview' },
};
const accessReviews: Resource<Reviewed<{ readonly allowed?: boolean }>> = {
  ...{ group: 'authorization.k8s.io', version: 'v1', namespaced: false },
  ...{ plural: 'subjectaccessreviews', kind: 'SubjectAccessReview' },
};

/** Unauthenticated: the token is none of a user. Forbidden: the user may not read the metrics. */
export type Access = 'Granted' | 'Unauthenticated' | 'Forbidden';

export interface MetricsAccessOptions {
  /** One whose writes are sent on standbys too: both reviews are asked for by a POST. */
  readonly client: Client;
  readonly clock: Clock;
}

/** Milliseconds for which an answer holds. */
const freshMs = 60_000;
/** Answers that are kept, the newest. */
const maxAnswers = 100;
/** A token that is longer is refused: those of ServiceAccounts have about a thousand characters. */
const maxTokenLength = 8192;

export class MetricsAccess {
  readonly #options: MetricsAccessOptions;
  /** By the digest of the token, so that no token stays in memory; a review that is under way is shared. */
  readonly #answers = new Map<string, { readonly access: Promise<Access>; readonly until: number }>();

  constructor(options: MetricsAccessOptions) {
    this.#options = options;
  }

  /**
   * @param authorization the header of that name.
   * @param path of the request.
   * @throws errors as the client's: whether access is granted is not known then.
   */
  async of(authorization: string | undefined, path: string): Promise<Access> {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined || token.length > maxTokenLength) return 'Unauthenticated';
    const now = this.#options.clock.monotonic();
    const key = createHash('sha256').update(`${path} ${token}`).digest('base64');
    const known = this.#answers.get(key);
    if (known !== undefined && now < known.until) return known.access;
    const access = this.#review(token, path);
    this.#answers.delete(key);
    this.#answers.set(key, { access, until: now + freshMs });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > maxAnswers && oldest !== undefined) this.#answers.delete(oldest);
    access.catch(() => this.#answers.delete(key));
    return access;
  }

  async #review(token: string, path: string): Promise<Access> {
    const { client } = this.#options;
    const metadata = { name: '' };
    const { status: identity } = await client.create(tokenReviews, { metadata, spec: { token } });
    if (identity?.authenticated !== true) return 'Unauthenticated';
    const { username: user, uid, groups, extra } = identity.user ?? {};
    const spec = { user, uid, groups, extra, nonResourceAttributes: { path, verb: 'get' } };
    const { status } = await client.create(accessReviews, { metadata, spec });
    return status?.allowed === true ? 'Granted' : 'Forbidden';
  }
}
