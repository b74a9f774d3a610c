/** Looks: when replicas read the sources of watchers, so that what they could not know is not asked of them. */
import { defaultRequestTimeouts } from '../../../src/runtime/limits.ts';
import { type FaultEntry, jsonOf, type LogEntry, type RequestEntry } from '../entry.ts';
import type { History } from '../history.ts';
import { sourcesOf } from '../selector.ts';
import type { WatcherRun } from '../watchers.ts';

const keptLooks = 200;

/** How long one renewal of the Lease is good for, in milliseconds. */
const term = 10_000;

/** How long a replica may take to record what it has seen, in milliseconds. */
const actsWithin = 1000;

/** The same where its write is not answered: a write's time limit more. */
const givesUpWithin = actsWithin + defaultRequestTimeouts.write;

interface Look {
  readonly time: number;
  /** Its process. */
  readonly replica: string;
}

/** A reconcile of a watcher that was not answered: nothing came of what it looked at. */
interface VainPass {
  readonly replica: string;
  readonly begin: number;
  readonly end: number;
}

/**
 * When the replicas looked at sources, and could act on it: a process that wakes after its lease has run out may not,
 * and one that is stopped at once cannot. What comes and goes between two such looks cannot be seen by any operator.
 */
export class Looks {
  readonly #bySource = new Map<string, Look[]>();
  /** By namespace/name of the watcher. */
  readonly #vainPasses = new Map<string, VainPass[]>();
  /** When a process wrote an annotation last, by its name and that of the ConfigMap. */
  readonly #annotatedAt = new Map<string, number>();
  /** Who renewed the Lease last; absent where there is no election. */
  #leader: { readonly replica: string; readonly renewedAt: number } | undefined;
  readonly #history: Pick<History, 'replicas'>;

  constructor(history: Pick<History, 'replicas'>) {
    this.#history = history;
  }

  request(entry: RequestEntry): void {
    const { replica, resource, subresource, verb, name, time, code } = entry;
    if (replica === undefined) return;
    // What cannot be recorded is forgotten once the content is taken back.
    const isUnrecorded =
      resource === 'configwatchers' && subresource === 'status' && code >= 400 && code !== 409;
    if (isUnrecorded) this.#drop(time - actsWithin, (one) => one === replica);
    this.#annotation(entry, replica);
    if (code >= 300) return;
    if (resource === 'leases' && verb !== 'get') this.#leader = { replica, renewedAt: time };
    if (verb !== 'get' || (resource !== 'configmaps' && resource !== 'secrets')) return;
    if (this.#leader && (this.#leader.replica !== replica || time - this.#leader.renewedAt > term)) return;
    // The answer comes to a process that is gone.
    if (this.#history.replicas.get(replica)?.running === false) return;
    const looks = this.#bySource.get(name) ?? [];
    this.#bySource.set(name, [...looks.slice(-keptLooks), { time, replica }]);
  }

  /** Where a ConfigMap keeps the state itself, a write meets each edit: what was looked at before is not recorded. */
  #annotation({ resource, verb, name, code, time }: RequestEntry, replica: string): void {
    if (resource !== 'configmaps' || verb !== 'patch') return;
    const key = `${replica} ${name}`;
    const since = this.#annotatedAt.get(key) ?? 0;
    if (code < 300) this.#annotatedAt.set(key, time);
    else if (code === 409) this.#drop(since, (one) => one === replica, [name]);
  }

  /** A status may hang on its way until its content is taken back. */
  log({ replica, time, text }: LogEntry): void {
    if (!text.startsWith('reconcile failed') || !text.includes('TransportError')) return;
    const fields = jsonOf(text.slice(text.indexOf('{')));
    const duration = Number(fields?.duration);
    const key = `${fields?.namespace}/${fields?.name}`;
    const passes = this.#vainPasses.get(key) ?? [];
    const pass = { replica, begin: time - Math.ceil(duration) - 1, end: time };
    this.#vainPasses.set(key, [...passes.slice(-keptLooks), pass]);
  }

  /** A fault of a replica begins: of its process, its machine or its network. Its status may hang on its way since before. */
  fault({ replica, state, time }: FaultEntry): void {
    if (replica !== undefined && state !== 'ends') {
      this.#drop(time - givesUpWithin, (one) => one.startsWith(`${replica}#`));
    }
  }

  /** Nothing came of what these replicas have seen since then. */
  #drop(since: number, isOf: (replica: string) => boolean, names = [...this.#bySource.keys()]): void {
    for (const name of names) {
      const looks = this.#bySource.get(name) ?? [];
      const isVain = (look: Look) => isOf(look.replica) && look.time >= since;
      this.#bySource.set(
        name,
        looks.filter((look) => !isVain(look)),
      );
    }
  }

  /** Whether a replica looked while the content was there with which a container was started at that time. */
  isSeen({ watcher, changes }: WatcherRun, start: number): boolean {
    const begin = Math.max(...changes.filter((change) => change <= start));
    const end = Math.min(...changes.filter((change) => change > start));
    const { namespace = '', name: watcherName } = watcher.metadata;
    const vain = this.#vainPasses.get(`${namespace}/${watcherName}`) ?? [];
    const isVain = ({ time, replica }: Look) =>
      vain.some((pass) => pass.replica === replica && pass.begin <= time && time <= pass.end);
    return sourcesOf(watcher.spec).some(({ name }) =>
      this.#bySource.get(name)?.some((look) => look.time >= begin && look.time < end && !isVain(look)),
    );
  }
}
