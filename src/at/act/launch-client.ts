/**
 * Launch client: the client of a standby, which can read, launch an At, and write nothing else. Whatever is decided, no
 * other request leaves the process.
 */
import { atPhase } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { pods } from '../../kubernetes/objects.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Patch } from '../../runtime/client/patch.ts';
import { reviews } from './author-check.ts';

class NotALaunchError extends Error {
  override readonly name = 'NotALaunchError';
}

/** @param client whose writes do not ask whether this process leads. */
export function launchClient(client: Client): Client {
  const refusal = () => new NotALaunchError('not sent: a standby launches Ats and writes nothing else');
  const refused = (): Promise<never> => Promise.reject(refusal());
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    watch: refused,
    getRaw: client.getRaw.bind(client),
    create: (resource, object, options) =>
      is(resource, pods) || is(resource, reviews) ? client.create(resource, object, options) : refused(),
    patch: (resource, key, patch, options) =>
      is(resource, pods) && isRelease(patch) ? client.patch(resource, key, patch, options) : refused(),
    patchStatus: (resource, key, patch, options) =>
      is(resource, ats) && isRecord(patch) ? client.patchStatus(resource, key, patch, options) : refused(),
    update: refused,
    updateStatus: refused,
    delete: refused,
    evict: refused,
    apply: refused,
    deleteCollection: refused,
    pages: (resource, options) => client.pages(resource, options),
    subresource: () => {
      throw refusal();
    },
  };
}

function is(one: { readonly group: string; readonly plural: string }, other: typeof one): boolean {
  return one.group === other.group && one.plural === other.plural;
}

/** Of exactly one Pod: takes a scheduling gate off, and does nothing else. */
function isRelease(patch: Patch): boolean {
  if (patch.type !== 'json') return false;
  const writes = patch.operations.filter(({ op }) => op !== 'test');
  const [write] = writes;
  const isGuarded = patch.operations.some(({ op, path }) => op === 'test' && path === '/metadata/uid');
  return (
    isGuarded &&
    writes.length === 1 &&
    write?.op === 'remove' &&
    /^\/spec\/schedulingGates\/\d+$/.test(write.path)
  );
}

/** Of exactly one version of an At: RUNNING, in this Pod. */
function isRecord(patch: Patch): boolean {
  if (patch.type !== 'merge') return false;
  const { metadata, status } = patch.body as {
    readonly metadata?: { readonly resourceVersion?: string };
    readonly status?: { readonly phase?: string; readonly podUID?: string };
  };
  return (
    metadata?.resourceVersion !== undefined &&
    status?.phase === atPhase.running &&
    status.podUID !== undefined
  );
}
