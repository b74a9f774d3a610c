/** Which Pods use a source: every way in which one may refer to it, as a real API server gives it back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { createOwner, plainContainer } from './configwatcher-owner.ts';
import { Shop } from './configwatcher-shop.ts';

const timeout = 180_000;
const [config, secret, other] = ['webapp-config', 'webapp-secret', 'other-config'];

const containing = (fields: object) => ({ containers: [{ ...plainContainer, ...fields }] });
/** An init container, and one beside the first: each is looked at as the first one is. */
const initContaining = (fields: object) => ({
  initContainers: [{ ...plainContainer, name: 'init', ...fields }],
  containers: [plainContainer],
});
const besideContaining = (fields: object) => ({
  containers: [plainContainer, { ...plainContainer, name: 'beside', ...fields }],
});
const mounting = (volume: object) => ({
  volumes: [{ name: 'config', ...volume }],
  ...containing({ volumeMounts: [{ name: 'config', mountPath: '/etc/config' }] }),
});
const env = (reference: object) => ({ env: [{ name: 'MESSAGE', valueFrom: reference }] });

/** Pod specs by the name of their Deployment. */
const users: Readonly<Record<string, object>> = {
  'config-env': containing(env({ configMapKeyRef: { name: config, key: 'message' } })),
  'config-env-from': containing({ envFrom: [{ prefix: 'APP_', configMapRef: { name: config } }] }),
  'config-env-optional': containing(env({ configMapKeyRef: { name: config, key: 'no', optional: true } })),
  'config-volume': mounting({ configMap: { name: config, items: [{ key: 'message', path: 'message' }] } }),
  'config-projected': mounting({
    projected: { sources: [{ downwardAPI: { items: [] } }, { configMap: { name: config } }] },
  }),
  'config-init-env': initContaining(env({ configMapKeyRef: { name: config, key: 'message' } })),
  'config-init-env-from': initContaining({ envFrom: [{ configMapRef: { name: config } }] }),
  'config-beside': besideContaining({ envFrom: [{ configMapRef: { name: config } }] }),
  'secret-env': containing(env({ secretKeyRef: { name: secret, key: 'password' } })),
  'secret-env-from': containing({ envFrom: [{ secretRef: { name: secret } }] }),
  'secret-volume': mounting({ secret: { secretName: secret } }),
  'secret-projected': mounting({ projected: { sources: [{ secret: { name: secret } }] } }),
  'secret-init-env': initContaining(env({ secretKeyRef: { name: secret, key: 'password' } })),
};
/** The same for those that have nothing of the sources. */
const others: Readonly<Record<string, object>> = {
  'other-none': containing({}),
  'other-env-from': containing({ envFrom: [{ configMapRef: { name: other } }] }),
  // A Secret of the name of the ConfigMap, and the other way round.
  'other-secret': containing({ envFrom: [{ secretRef: { name: config } }] }),
  'other-volume': mounting({ configMap: { name: secret } }),
};

describe('a ConfigWatcher with onlyReferencing', () => {
  it('restarts the Pods that refer to one of its sources in any way, and no others', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    const key = { namespace, name: secret };
    await client.create(secrets, { metadata: key, stringData: { password: 'first' } });
    const specs = Object.entries({ ...users, ...others });
    for (const [name, podSpec] of specs) await createOwner(shop, deployments, name, 1, podSpec);
    const before = await shop.allReady(specs.length);
    await shop.startOperator({ secretAccess: true });
    const strategy = { type: 'Evict' as const, canary: false, maxOwners: 50 };
    const immediately = { debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy };
    await shop.watch({ ...immediately, onlyReferencing: true, sources: [{ kind: 'Secret', name: secret }] });
    const { matchedPods } = await shop.baselined();
    assert.equal(matchedPods, specs.length, 'all of them are selected');
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    const after = (await shop.allReady(specs.length)).map(({ metadata }) => metadata.uid);
    const replaced = before.filter(({ metadata }) => !after.includes(metadata.uid));
    assert.deepEqual(
      replaced.map(({ metadata }) => metadata.labels?.deployment).sort(),
      Object.keys(users).sort(),
    );
    assert.deepEqual(
      [lastRestart?.restarted, shop.seen.length],
      [replaced.length, specs.length + replaced.length],
    );
  });
});
