/** S11 to S14: who may write, how a write is guarded, what is granted, and what must never be said. */
import { isAccepted, isWrite, jsonOf, type RequestEntry, type SeenEntry } from '../entry.ts';
import { type Finding, type History, kept, type NamedPromise } from '../history.ts';
import { grantedRights } from '../rights.ts';

interface Lease {
  readonly spec?: { readonly holderIdentity?: string | null };
}

/** So long a leader whose renewals do not get through holds itself for one, in milliseconds. */
const leadsWithin = 10_000;

/** Who holds the Lease, by the requests that were accepted. */
class Leases {
  /** Identity in the Lease → replica, as their own requests say. */
  readonly #identities = new Map<string, string>();
  readonly hasLed = new Set<string>();
  /** Whether there is an election at all. */
  isElected = false;
  /** Undefined: no writer, or a client that is no replica. */
  holder: string | undefined;
  /** From when on the one before may not write. */
  takenAt = 0;
  /** When the holder took it. */
  #heldSince = 0;
  #deletedAt = Number.NEGATIVE_INFINITY;
  /** Replicas that have read the Lease since its holder took it. */
  readonly #readers = new Set<string>();

  started(replica: string): void {
    this.hasLed.delete(replica);
    this.#readers.delete(replica);
  }

  /** An answer with the Lease has arrived. */
  shown({ replica, object, isWritten }: SeenEntry): void {
    const { spec } = object as Lease;
    if (!isWritten) this.#readers.add(replica);
    else if (this.#identities.get(spec?.holderIdentity ?? '') === replica) this.hasLed.add(replica);
  }

  /** @param areAnswersKnown false: as in an audit log, each answer counts as one that has arrived. */
  request(request: RequestEntry, areAnswersKnown: boolean): void {
    if (!isWrite(request)) {
      if (request.code === 200 && !areAnswersKnown) this.#readers.add(request.replica ?? '');
      return;
    }
    this.isElected = true;
    const { spec } = (jsonOf(request.body) ?? {}) as Lease;
    // An audit log has no bodies: there its writer counts as the holder.
    const identity = spec?.holderIdentity ?? (request.body === '' ? (request.replica ?? '') : '');
    if (identity !== '') this.#identities.set(identity, request.replica ?? '');
    if (!isAccepted(request)) return;
    const next = this.#identities.get(identity);
    if (next !== undefined && !areAnswersKnown) this.hasLed.add(next);
    if (next === this.holder) return;
    this.takenAt = request.time + this.#untilKnown(next);
    this.#heldSince = request.time;
    this.holder = next;
    this.#readers.clear();
  }

  /**
   * Milliseconds after which the holder before knows that another one took the Lease. A process that has not looked
   * between the time when that one took the Lease and the time when a user deleted it cannot know that it is held; the
   * holder learns of it at its next renewal, which may hang.
   */
  #untilKnown(next: string | undefined): number {
    return this.#deletedAt > this.#heldSince && !this.#readers.has(next ?? '') ? leadsWithin : 0;
  }

  /** Written or deleted by another client. */
  overwritten({ spec }: Lease, isDeleted: boolean, time: number): void {
    if (isDeleted) this.#deletedAt = time;
    this.holder = this.#identities.get(spec?.holderIdentity ?? '');
  }
}

/** What a standby may send: the launch of an At. An audit log has no bodies to look at. */
function belongsToLaunch({ verb, resource, subresource, body }: RequestEntry): boolean {
  const json = body === '' ? undefined : jsonOf(body);
  switch (`${verb} ${resource}${subresource === '' ? '' : '/'}${subresource}`) {
    case 'create pods':
    case 'create localsubjectaccessreviews':
      return true;
    case 'patch ats/status':
      return json === undefined || (json as { status?: { phase?: string } }).status?.phase === 'RUNNING';
    case 'patch pods':
      return json === undefined || isRelease(json);
    default:
      return false;
  }
}

/** Whether a JSON patch does nothing but remove a scheduling gate. */
function isRelease(patch: unknown): boolean {
  const operations = Array.isArray(patch) ? (patch as { op: string; path: string }[]) : [];
  const writes = operations.filter(({ op }) => op !== 'test');
  return (
    writes.length === 1 && /^remove \/spec\/schedulingGates\/\d+$/.test(`${writes[0]?.op} ${writes[0]?.path}`)
  );
}

function ofStandby(request: RequestEntry, what: string): Finding | typeof kept {
  return belongsToLaunch(request) ? kept : { text: `${what} and never led`, clue: 'standby' };
}

export const onlyLeadersWrite: NamedPromise = {
  name: 'S11',
  sentence: 'after a lost lease no write leaves the process; a standby sends nothing but the launches of Ats',
  start(history) {
    const leases = new Leases();
    return {
      seen(entry) {
        if (entry.resource === 'leases') leases.shown(entry);
        return undefined;
      },
      replica({ replica, state }) {
        if (state === 'started') leases.started(replica);
        return undefined;
      },
      request(request) {
        const { replica, resource, verb, sentAt } = request;
        if (replica === undefined) return undefined;
        if (resource === 'leases') leases.request(request, history.tracksSeen);
        if (resource === 'leases' || !isWrite(request) || !leases.isElected) return undefined;
        const what = `${replica} sent ${verb} ${resource}/${request.name}`;
        if (!leases.hasLed.has(replica)) return ofStandby(request, what);
        const { holder, takenAt } = leases;
        return holder !== undefined && holder !== replica && sentAt > takenAt
          ? { text: `${what} while ${holder} led`, clue: 'lost lease' }
          : kept;
      },
      change({ resource, change, object, by, time }) {
        if (resource !== 'leases' || by?.replica !== undefined) return undefined;
        leases.overwritten(object as Lease, change === 'DELETED', time);
        return undefined;
      },
    };
  },
};

const ourKinds = new Set(['ats', 'configwatchers']);

interface GuardedBody {
  readonly metadata?: { readonly resourceVersion?: string; readonly uid?: string };
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly deleteOptions?: { readonly preconditions?: { readonly uid?: string } };
}

/** Whether a JSON patch begins with a test of the uid. */
function testsUid(patch: unknown): boolean {
  const [first] = Array.isArray(patch) ? (patch as { op?: string; path?: string }[]) : [];
  return first?.op === 'test' && first.path === '/metadata/uid';
}

/** What guard is missing. */
function unguarded(request: RequestEntry): string | undefined {
  const { verb, resource, subresource, body } = request;
  const json = jsonOf(body);
  const { metadata, preconditions, deleteOptions } = (json ?? {}) as GuardedBody;
  const isStatus = ourKinds.has(resource) && subresource === 'status';
  if (verb === 'delete') return preconditions?.uid === undefined ? 'without the UID' : undefined;
  if (verb === 'update') return metadata?.resourceVersion === undefined ? 'blindly' : undefined;
  if (subresource === 'eviction') {
    return deleteOptions?.preconditions?.uid === undefined ? 'without the UID' : undefined;
  }
  if (verb !== 'patch' || !isStatus) return undefined;
  return metadata?.resourceVersion === undefined && !testsUid(json)
    ? 'without the resourceVersion or a test of the UID'
    : undefined;
}

export const writesAreGuarded: NamedPromise = {
  name: 'S12',
  sentence: 'status writes carry the resourceVersion or test the UID; deletes carry the UID; no blind PUT',
  start: () => ({
    request(request) {
      if (request.replica === undefined || !isWrite(request)) return undefined;
      const how = unguarded(request);
      const { verb, resource, name, subresource } = request;
      return how === undefined
        ? kept
        : { text: `${verb} ${resource}/${name}${subresource && `/${subresource}`} ${how}`, clue: how };
    },
  }),
};

/** `verb group/resource`, as the rights are named. */
export function rightOf({ verb, group, resource, subresource }: RequestEntry): string {
  return `${verb} ${group}/${resource}${subresource && `/${subresource}`}`;
}

export const withinRights: NamedPromise = {
  name: 'S13',
  sentence: 'requests ⊆ what RBAC grants',
  start() {
    const granted = grantedRights();
    const reported = new Set<string>();
    return {
      request(request) {
        if (request.replica === undefined || request.resource === '') return undefined;
        const right = rightOf(request);
        if (granted.has(right) || reported.has(right)) return kept;
        reported.add(right);
        return { text: `${right} is not granted`, clue: right };
      },
    };
  },
};

/** Where a text is, whatever it is, with as much of it as tells which. */
function leaked({ secrets }: History, text: string): string | undefined {
  return secrets.find((secret) => text.includes(secret));
}

export const nothingLeaks: NamedPromise = {
  name: 'S14',
  sentence:
    'values of ConfigMaps and Secrets, tokens and command text never appear in logs, Events, status, errors',
  start: (history) => ({
    log({ level, text, replica }) {
      const secret = level === 'debug' ? undefined : leaked(history, text);
      return secret === undefined
        ? kept
        : { text: `${replica} logged ${secret}: ${text.slice(0, 300)}`, clue: 'log' };
    },
    request({ replica, resource, subresource, verb, body }) {
      // A Pod holds the command; an At's own status the output of its command.
      if (replica === undefined || resource === 'pods' || resource === 'leases' || body === '')
        return undefined;
      if (resource === 'ats' && subresource === 'status') return undefined;
      const secret = leaked(history, body);
      return secret === undefined
        ? kept
        : { text: `${verb} ${resource} with ${secret}: ${body.slice(0, 300)}`, clue: resource };
    },
  }),
};
