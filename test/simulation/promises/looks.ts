/** Looks: when replicas read the sources of watchers, so that what they could not know is not asked of them. */
import type { RequestEntry, SeenEntry } from '../entry.ts';
import type { History } from '../history.ts';
import { sourcesOf } from '../selector.ts';
import type { WatcherRun } from '../watchers.ts';

/** So many are kept of each source, and of each watcher. */
const kept = 200;

/** How long one renewal of the Lease is good for, in milliseconds. */
const term = 10_000;

/** What a process did, and when. */
interface Deed {
  readonly time: number;
  /** Its process. */
  readonly replica: string;
}

/**
 * When the replicas looked at sources, and could act on it: a process that wakes after its lease has run out may not.
 * What comes and goes between two such looks cannot be seen by any operator, and what a process has seen and not recorded
 * goes with it, or with its lead.
 */
export class Looks {
  /** By kind, namespace and name. */
  readonly #bySource = new Map<string, Deed[]>();
  /** By namespace/name of the watcher. */
  readonly #records = new Map<string, Deed[]>();
  /** Who renewed the Lease last; absent where there is no election. */
  #leader: { readonly replica: string; readonly renewedAt: number } | undefined;
  readonly #history: Pick<History, 'replicas'>;

  constructor(history: Pick<History, 'replicas'>) {
    this.#history = history;
  }

  request(entry: RequestEntry): void {
    const { replica, resource, verb, namespace = '', name, time, code } = entry;
    if (replica === undefined || code >= 300) return;
    if (resource === 'leases' && verb !== 'get') this.#leader = { replica, renewedAt: time };
    if (isRecord(entry)) add(this.#records, `${namespace}/${name}`, { time, replica });
  }

  /** The answer to a read has reached its process. Lists and watches show the metadata alone. */
  seen({ replica, resource, object: { kind, metadata }, isWritten, time }: SeenEntry): void {
    if (isWritten || (kind !== 'ConfigMap' && kind !== 'Secret')) return;
    if (this.#leader && (this.#leader.replica !== replica || time - this.#leader.renewedAt > term)) return;
    add(this.#bySource, `${resource}/${metadata.namespace}/${metadata.name}`, { time, replica });
  }

  /** Whether a replica looked while the content was there with which a container was started at that time. */
  isSeen({ watcher, changes }: WatcherRun, start: number): boolean {
    const begin = Math.max(...changes.filter((change) => change <= start));
    const end = Math.min(...changes.filter((change) => change > start));
    const { namespace = '', name: watcherName } = watcher.metadata;
    const records = this.#records.get(`${namespace}/${watcherName}`) ?? [];
    const isKnown = (look: Deed) => {
      const next = records.find(({ time }) => time >= look.time);
      return next === undefined ? this.#mayAct(look.replica) : next.replica === look.replica;
    };
    return sourcesOf(watcher.spec).some(({ kind, name }) =>
      this.#bySource
        .get(`${kind.toLowerCase()}s/${namespace}/${name}`)
        ?.some((look) => look.time >= begin && look.time < end && isKnown(look)),
    );
  }

  #mayAct(replica: string): boolean {
    return this.#isRunning(replica) && (this.#leader === undefined || this.#leader.replica === replica);
  }

  #isRunning(replica: string): boolean {
    return this.#history.replicas.get(replica)?.running !== false;
  }
}

/** Of the state of a watcher, or of that of an annotated ConfigMap. */
function isRecord({ resource, subresource, verb }: RequestEntry): boolean {
  if (resource === 'configmaps') return verb === 'patch';
  return resource === 'configwatchers' && (subresource === 'status' || verb === 'patch');
}

function add(deeds: Map<string, Deed[]>, key: string, deed: Deed): void {
  deeds.set(key, [...(deeds.get(key) ?? []).slice(-kept), deed]);
}
