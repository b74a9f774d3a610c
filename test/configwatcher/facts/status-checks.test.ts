import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../../src/api/resources.ts';
import { StateStore } from '../../../src/configwatcher/act/state-store.ts';
import { statusChecks } from '../../../src/configwatcher/facts/status-checks.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import { watching } from '../../fixtures/configwatcher.ts';

const kind = { name: 'configwatchers', kind: 'ConfigWatcher', namespaced: true };

async function started(t: TestContext, { hasStatus }: { readonly hasStatus: boolean }) {
  const clock = new FakeClock();
  const server: { hasStatus: boolean; failure?: Error } = { hasStatus };
  const client = {
    getRaw: async () => {
      if (server.failure) throw server.failure;
      const resources = server.hasStatus ? [kind, { ...kind, name: 'configwatchers/status' }] : [kind];
      return { kind: 'APIResourceList', resources };
    },
  } as Partial<Client> as Client;
  const watchers = { list: () => [watching()] } as Partial<Lister<ConfigWatcher>> as Lister<ConfigWatcher>;
  const store = new StateStore(configWatchers, client, clock);
  const woken: string[] = [];
  const source = statusChecks({ resource: configWatchers, client, clock, watchers, store });
  const stop = new AbortController();
  t.after(() => stop.abort());
  source.start(({ name }) => woken.push(name), silentLogger, stop.signal);
  await source.waitForSync(stop.signal);
  return { clock, server, store, woken };
}

const [name] = [watching().metadata.name];

describe('the status of watchers', () => {
  it('is known before the first of them is looked at', async (t) => {
    assert.equal((await started(t, { hasStatus: true })).store.hasStatus, true);
    assert.equal((await started(t, { hasStatus: false })).store.hasStatus, false);
  });

  it('that goes with its CRD, or comes back, has every watcher looked at within a minute', async (t) => {
    const { clock, server, store, woken } = await started(t, { hasStatus: true });
    await clock.advanceAsync(600_000);
    assert.deepEqual(woken, []);
    for (const hasStatus of [false, true]) {
      server.hasStatus = hasStatus;
      await clock.advanceAsync(60_000);
      assert.equal(store.hasStatus, hasStatus);
      await clock.advanceAsync(600_000);
      assert.deepEqual(woken.splice(0), [name]);
    }
  });

  it('is as it was while discovery fails', async (t) => {
    const { clock, server, store, woken } = await started(t, { hasStatus: false });
    server.failure = new Error('unavailable');
    await clock.advanceAsync(300_000);
    assert.deepEqual([store.hasStatus, woken.length], [false, 1]);
    server.hasStatus = true;
    delete server.failure;
    await clock.advanceAsync(60_000);
    assert.equal(store.hasStatus, true);
  });
});
