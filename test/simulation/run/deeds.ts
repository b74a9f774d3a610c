/** Performs the deeds of a plan, as people and other programs do them. */
import type { Pod } from '../../../src/kubernetes/objects.ts';
import type { Method } from '../../../src/testing/api-server/api-message.ts';
import type { History } from '../history.ts';
import { namespace } from '../plan/draw-ats.ts';
import type { Deed, Plan } from '../plan/plan.ts';
import { uidLabel } from '../runs.ts';
import { checksAuthors, withAuthor } from './author-check.ts';
import type { Cluster } from './cluster.ts';

/** Who does what says nothing else. */
const administrator = 'alice';

export class Deeds {
  readonly #cluster: Cluster;
  readonly #history: History;
  /** Whether an admission policy records who asks for Ats. */
  readonly #recordsAuthors: boolean;

  constructor(cluster: Cluster, history: History, plan: Plan) {
    this.#cluster = cluster;
    this.#history = history;
    this.#recordsAuthors = checksAuthors(plan);
  }

  perform(deed: Deed): void {
    switch (deed.do) {
      case 'create': {
        const { resource, name, by } = deed;
        this.#request('POST', this.#path(resource), this.#sent(deed), `creates ${resource}/${name}`, by);
        break;
      }
      case 'patch': {
        const { resource, name, subresource = '', body } = deed;
        this.#request(
          'PATCH',
          this.#path(resource, name, subresource),
          this.#sent(deed),
          `edits ${resource}/${name}${subresource && ` ${subresource}`} ${JSON.stringify(body)}`,
        );
        break;
      }
      case 'delete': {
        const { resource, name, propagation, grace } = deed;
        const options = {
          ...(propagation && { propagationPolicy: propagation }),
          ...(grace !== undefined && { gracePeriodSeconds: grace }),
        };
        this.#request('DELETE', this.#path(resource, name), options, `deletes ${resource}/${name}`);
        break;
      }
      case 'pod':
        this.#toPod(deed);
        break;
    }
  }

  #path(resource: string, name = '', subresource = ''): string {
    return this.#cluster.pathOf(resource, name, subresource);
  }

  #sent(deed: Deed & { readonly do: 'create' | 'patch' }): object {
    if (!this.#recordsAuthors) return deed.do === 'create' ? deed.object : deed.body;
    const before = this.#history.objects.get(deed.resource, namespace, deed.name);
    return withAuthor(deed, ('by' in deed && deed.by) || administrator, before);
  }

  #request(
    method: Method,
    path: string,
    body: object | undefined,
    text: string,
    user: string = administrator,
  ): void {
    const time = this.#cluster.simulation.now;
    this.#history.add({ type: 'edit', time, actor: user, text });
    this.#cluster.request(user, method, path, body);
  }

  #toPod({ label: [key, value], index, what }: Deed & { readonly do: 'pod' }): void {
    const found = this.#cluster
      .list<Pod>('pods')
      .filter(({ metadata }) => metadata.labels?.[key] === value)
      .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
    const pod = found[index % Math.max(1, found.length)];
    if (pod === undefined) return;
    const { name } = pod.metadata;
    const path = this.#path('pods', name);
    const text = `${what} pods/${name}`;
    switch (what) {
      case 'delete':
        this.#request('DELETE', path, {}, text);
        break;
      case 'force-delete':
        this.#request('DELETE', path, { gracePeriodSeconds: 0 }, text);
        break;
      case 'evict':
        this.#request(
          'POST',
          `${path}/eviction`,
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
          text,
        );
        break;
      case 'strip-owner':
        this.#request('PATCH', path, { metadata: { ownerReferences: null } }, text);
        break;
      case 'strip-label':
        this.#request('PATCH', path, { metadata: { labels: { [uidLabel]: null } } }, text);
        break;
      case 'strip-finalizers':
        this.#request('PATCH', path, { metadata: { finalizers: null } }, text);
        break;
    }
  }
}
