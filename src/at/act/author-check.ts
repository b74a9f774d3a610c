/**
 * Author check: whether the user who asked for what an At runs may still create Pods in its namespace. The admission
 * policy of config/author-check stamps that user on each At; the API server is asked about the rights at each launch.
 */
import type { At } from '../../api/at.generated.ts';
import { atAnnotation } from '../../api/at-constants.ts';
import type { KubernetesObject, Pod, Resource } from '../../kubernetes/objects.ts';
import { earliest, parseTime } from '../../kubernetes/time.ts';
import { findPresence } from '../../runtime/cache/presence.ts';
import type { Client } from '../../runtime/client/client.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';
import { parseJson } from '../plan/template.ts';
import { SharedAnswers } from './shared-answers.ts';

/** On the policy that stamps, and on its binding, whatever an overlay calls them. */
const policyLabel = 'cnat.programming-kubernetes.info/author-check';

/** Of the lists of policies: launches wait for them. */
const readTimeoutMs = 5000;
/** Milliseconds between two questions of an operator that starts: the sync of its caches bounds their number. */
const askAgainMs = 1000;
/** Milliseconds from the creation of a policy until every API server follows it, at the latest. */
const inForceAfterMs = 10_000;
/** A creationTimestamp has whole seconds, and what is known of the server's time is about a second off. */
const creationMarginMs = 2000;

const admission = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
const policies: Resource = {
  ...admission,
  plural: 'mutatingadmissionpolicies',
  kind: 'MutatingAdmissionPolicy',
};
const policyBindings: Resource<KubernetesObject & { readonly spec: { readonly policyName: string } }> = {
  ...admission,
  plural: 'mutatingadmissionpolicybindings',
  kind: 'MutatingAdmissionPolicyBinding',
};

/** Asked in the namespace of the At, so that a Role is enough for it. */
export const reviews: Resource<
  KubernetesObject & { readonly spec: object; readonly status?: { readonly allowed?: boolean } }
> = {
  ...{ group: 'authorization.k8s.io', version: 'v1', namespaced: true },
  ...{ plural: 'localsubjectaccessreviews', kind: 'LocalSubjectAccessReview' },
};

export class AuthorCheck {
  readonly #client: Client;
  readonly #clock: Clock;
  /** Since when authors are recorded, epoch milliseconds; undefined: they are not. */
  readonly #since: SharedAnswers<number | undefined>;
  /** Whether the author may create Pods, by namespace and author. */
  readonly #rights: SharedAnswers<boolean>;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#since = new SharedAnswers(clock);
    this.#rights = new SharedAnswers(clock);
  }

  /**
   * Whether this API server has the kind of policy that records authors: asked until it answers.
   *
   * @throws {Error} with one sentence for people when it has not, and the signal's reason when that is aborted.
   */
  async assertServed(signal: AbortSignal): Promise<void> {
    for (;;) {
      const presence = await findPresence(this.#client, policies, signal);
      if (presence === 'served') return;
      if (presence !== 'unknown') {
        throw new Error(
          'this API server does not serve MutatingAdmissionPolicy in admissionregistration.k8s.io/v1 (Kubernetes 1.36), which --author-check needs: leave the flag out',
        );
      }
      await sleep(this.#clock, askAgainMs, signal);
    }
  }

  /**
   * @returns who may run the At, or as a sentence why it must not run.
   * @throws errors as the client's: whether the At may run is not known then.
   */
  async authorize(
    at: At,
    signal: AbortSignal,
  ): Promise<{ readonly username: string } | { readonly refusal: string }> {
    const created = creationTime(at);
    // An earlier answer does not tell whether the policy was there when the At was created.
    const since = await this.#since.get('', () => this.#policySince(), signal, created + creationMarginMs);
    if (since === undefined) {
      return { refusal: 'no admission policy records the authors of Ats: apply config/author-check' };
    }
    if (!(created >= since + inForceAfterMs)) {
      return { refusal: 'it is older than the policy that records authors: delete it and create it again' };
    }
    const stamp = at.metadata.annotations?.[atAnnotation.author];
    const author = readAuthor(stamp);
    if (author === undefined) return { refusal: 'its author is not recorded' };
    const { username } = author;
    const namespace = at.metadata.namespace ?? '';
    const ask = () => this.#mayCreatePods(namespace, author);
    const mayCreatePods = await this.#rights.get(`${namespace} ${stamp}`, ask, signal);
    return mayCreatePods
      ? { username }
      : { refusal: `its author "${username}" may not create Pods in the namespace "${namespace}"` };
  }

  async #policySince(): Promise<number | undefined> {
    const options = { labelSelector: `${policyLabel}=true`, timeout: readTimeoutMs };
    const [stamping, bindings] = await Promise.all([
      this.#client.list(policies, options),
      this.#client.list(policyBindings, options),
    ]);
    const bound = bindings.items.flatMap((binding) => {
      const policy = stamping.items.find(({ metadata }) => metadata.name === binding.spec.policyName);
      return policy === undefined ? [] : [Math.max(creationTime(policy), creationTime(binding))];
    });
    return earliest(bound);
  }

  async #mayCreatePods(
    namespace: string,
    author: NonNullable<ReturnType<typeof readAuthor>>,
  ): Promise<boolean> {
    const { username: user, ...rest } = author;
    const resourceAttributes = { namespace, verb: 'create', version: 'v1', resource: 'pods' };
    const review = { metadata: { name: '', namespace }, spec: { user, ...rest, resourceAttributes } };
    const { status } = await this.#client.create(reviews, review);
    return status?.allowed === true;
  }
}

/** Epoch milliseconds. */
function creationTime({ metadata }: KubernetesObject): number {
  return parseTime(metadata.creationTimestamp ?? '');
}

/** The user, as the API server knew it at the request; undefined unless it is what the policy writes. */
function readAuthor(stamp: string | undefined) {
  const { username, uid, groups, extra } = parseJson(stamp) ?? {};
  const isWhole =
    typeof uid === 'string' &&
    isStrings(groups) &&
    typeof extra === 'object' &&
    extra !== null &&
    Object.values(extra).every(isStrings);
  return isWhole && typeof username === 'string' && username !== ''
    ? { username, uid, groups, extra }
    : undefined;
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The Pod with the name of the user who asked for it; the rest of what is recorded is not for all who may read Pods. */
export function withAuthor(pod: Pod, { username }: { readonly username?: string | undefined }): Pod {
  if (username === undefined) return pod;
  const { metadata } = pod;
  const annotations = { ...metadata.annotations, [atAnnotation.author]: username };
  return { ...pod, metadata: { ...metadata, annotations } };
}
