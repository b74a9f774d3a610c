/** What the API server makes of a ConfigWatcher that says little: the defaults of its CRD. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { applyCrds, connectToTestCluster, withNamespace } from './support.ts';

/** All that the book's sample says. */
const ofTheBook = { configMap: 'webapp-config', podSelector: { app: 'webapp' } };

const strategy = {
  type: 'Auto',
  maxOwners: 10,
  canary: true,
  maxUnavailable: '25%',
  unmanagedPods: 'Skip',
  jobPods: 'Skip',
  progressDeadlineSeconds: 600,
};
const debounce = { quiet: '2s', max: '30s' };
const cooldown = { base: '30s', max: '10m' };
/** Lists stay absent, which is the same as empty; minReadySeconds, as it is the owner's own. */
const defaults = {
  ...{ suspend: false, dryRun: false, onDelete: 'Ignore', onlyReferencing: false },
  ...{ strategy, debounce, cooldown },
};

async function storedSpec(t: TestContext, spec: ConfigWatcher['spec']): Promise<ConfigWatcher['spec']> {
  const { client } = connectToTestCluster();
  const key = { namespace: await withNamespace(t), name: 'webapp-config-watcher' };
  await client.create(configWatchers, { metadata: key, spec });
  return (await client.get(configWatchers, key)).spec;
}

describe('a ConfigWatcher as the API server stores it', () => {
  before(() => applyCrds());

  it("with the two fields of the book's sample has every default", async (t) => {
    assert.deepEqual(await storedSpec(t, ofTheBook), { ...ofTheBook, ...defaults });
  });

  it('keeps what it says, and has the defaults of what it leaves out beside that', async (t) => {
    const stored = await storedSpec(t, {
      ...ofTheBook,
      suspend: true,
      strategy: { type: 'Evict', maxUnavailable: 2 },
      debounce: { quiet: '0s' },
      cooldown: { max: '1h' },
      sources: [{ kind: 'ConfigMap', name: 'extra' }],
    });
    assert.deepEqual(stored, {
      ...{ ...ofTheBook, ...defaults, suspend: true },
      strategy: { ...strategy, type: 'Evict', maxUnavailable: 2 },
      debounce: { quiet: '0s', max: '30s' },
      cooldown: { base: '30s', max: '1h' },
      sources: [{ kind: 'ConfigMap', name: 'extra', optional: false }],
    });
  });
});
