import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import { mayRestartNow } from '../../../src/configwatcher/decide/pending.ts';
import { Observer } from '../../../src/configwatcher/facts/observer.ts';
import { emptyMemory } from '../../../src/configwatcher/facts/restart-memory.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import type { KubernetesObject, Resource } from '../../../src/kubernetes/objects.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';
import type { Client, ObjectKey } from '../../../src/runtime/client/client.ts';
import { ServerClock } from '../../../src/runtime/server-clock.ts';
import { FakeClock } from '../../fake/clock.ts';
import { watching, webapp } from '../../fixtures/configwatcher.ts';

const { signal } = new AbortController();

function podOf(name: string, app = 'webapp'): KubernetesObject {
  return { metadata: { namespace: 'shop', name, labels: { app }, ownerReferences: [webapp] } };
}

/** What has been asked for while the list of Pods is not answered yet. */
async function askedWithTheList(
  spec: Partial<ConfigWatcherSpec>,
  known: readonly KubernetesObject[],
): Promise<string[]> {
  const asked: string[] = [];
  const answer = Promise.withResolvers<{ items: [] }>();
  const client = {
    list: ({ plural }: Resource) => {
      asked.push(`list ${plural}`);
      return answer.promise;
    },
    get: async ({ plural, kind }: Resource, { name }: ObjectKey) => {
      asked.push(`get ${plural} ${name}`);
      return { kind, metadata: { name, uid: webapp.uid } };
    },
  } as unknown as Client;
  const observer = new Observer({
    mayRestartNow,
    ...{ group: 'k8spatterns.io', kind: 'ConfigWatcher', client },
    clock: new ServerClock(new FakeClock()),
    configMaps: {} as Lister<KubernetesObject>,
    pods: { list: () => known } as unknown as Lister<KubernetesObject>,
  });
  const watcher = watching(spec);
  const observed = observer.known(watcher, readState(), emptyMemory);
  const listed = observer.answer('pods', watcher, observed, { isRecorded: true, knownSince: 0, signal });
  await new Promise((resolve) => setImmediate(resolve));
  const meanwhile = [...asked];
  answer.resolve({ items: [] });
  assert.deepEqual((await listed).pods, []);
  return meanwhile;
}

describe('the list of Pods', () => {
  it('goes together with the reads of the owners that a restart at once takes', async () => {
    const known = [podOf('a'), podOf('b'), podOf('other', 'elsewhere')];
    assert.deepEqual(await askedWithTheList({ debounce: { quiet: '0s' } }, known), [
      'list pods',
      `get replicasets ${webapp.name}`,
      'get deployments webapp',
    ]);
  });

  for (const [what, spec] of [
    ['its debounce', {}],
    ['the end of its suspension', { debounce: { quiet: '0s' }, suspend: true }],
    ['the end of a dry run', { debounce: { quiet: '0s' }, dryRun: true }],
  ] as const) {
    it(`goes alone where a restart waits for ${what}`, async () => {
      assert.deepEqual(await askedWithTheList(spec, [podOf('a')]), ['list pods']);
    });
  }
});
