/** Owners whose own rollout cannot restart their Pods, on a real API server with the real controllers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { deployments, replicaSets } from '../../src/configwatcher/facts/workload.ts';
import type { Resource } from '../../src/kubernetes/objects.ts';
import { evictingRights, noteEvictions } from './configwatcher-evictions.ts';
import { createOwner } from './configwatcher-owner.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { admitBy } from './pod-policy.ts';
import { grant, isAllowed, kubeConfigOf, type Rule, regrant } from './rights.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';

const patching: Rule = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['patch'] };

/** A Deployment, which by its name begins, and a ReplicaSet that no Deployment owns, with two Pods each. */
async function withReplicaSet(...args: Parameters<typeof Shop.open>): Promise<Shop> {
  const shop = await Shop.open(...args);
  await shop.createConfigMap({ message: 'first' });
  await createOwner(shop, deployments, 'api', 2);
  await createOwner(shop, replicaSets, 'games', 2);
  await shop.allReady(4);
  return shop;
}

async function templateOf({ client, namespace }: Shop, resource: Resource, name: string) {
  const { metadata, spec } = await client.get(resource as typeof deployments, { namespace, name });
  return { generation: metadata.generation, annotations: spec?.template?.metadata?.annotations };
}

/** Notes of the Events of that reason on the watcher itself. */
async function notesOf({ client, namespace }: Shop, reason: string): Promise<(string | undefined)[]> {
  const { items } = await client.list(events, { namespace });
  return items
    .filter((event) => event.reason === reason && event.regarding?.kind === 'ConfigWatcher')
    .map(({ note }) => note);
}

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  for (const type of ['RolloutRestart', 'Auto'] as const) {
    it(`by ${type} evicts the Pods of a ReplicaSet that no Deployment owns, and rolls the Deployment out`, {
      timeout,
    }, async (t) => {
      const shop = await withReplicaSet(t);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, strategy: { type } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart, strategyInUse } = await shop.restarted(1);
      await shop.allReady(4);
      assert.deepEqual([lastRestart?.restarted, strategyInUse, shop.seen.length], [4, type, 8]);
      assert.deepEqual(
        evicted.map((name) => name.replace(/-\w+$/, '')),
        ['games', 'games'],
      );
      const api = { generation: 2, annotations: { [annotation]: lastRestart?.id } };
      assert.deepEqual(await templateOf(shop, deployments, 'api'), api);
      const games = { generation: 1, annotations: undefined };
      assert.deepEqual(await templateOf(shop, replicaSets, 'games'), games);
      // Its Event comes after all the others.
      await shop.untilEvent('RestartCompleted');
      const told = (await notesOf(shop, 'RestartStarted')).filter((note) => note?.includes('rollout'));
      const fallback = ['ReplicaSet games: has no rollout, so its Pods are evicted'];
      assert.deepEqual(told, type === 'Auto' ? [] : fallback, 'who asked for a rollout is told');
    });
  }

  it('by RolloutRestart without the right to patch evicts what has no rollout, says what it lacks, and goes on when it has it', {
    timeout,
  }, async (t) => {
    const shop = await withReplicaSet(t);
    const { client, namespace } = shop;
    const user = `rollout-${namespace}`;
    await grant(t, client, user, evictingRights);
    await eventually(() => isAllowed(client, user, { ...patching, verbs: ['get'] }));
    const evicted: string[] = [];
    await shop.startOperator({
      kubeConfig: kubeConfigOf(user),
      onConnect: noteEvictions(evicted),
    });
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const missing = 'the operator may not patch deployments here';
    const isTold = ({ conditions = [] }: ConfigWatcherStatus) =>
      conditions.some((one) => one.type === 'Ready' && one.status === 'False' && one.message === missing);
    await shop.until('the missing right is told', isTold);
    const held = await shop.until('the ReplicaSet is done', ({ lastRestart }) => {
      const games = lastRestart?.owners?.find(({ name }) => name === 'ReplicaSet/games');
      return games?.reason === 'Available';
    });
    assert.deepEqual([isTold(held), held.stalePods, shop.seen.length], [true, 2, 6]);
    await regrant(client, user, [...evictingRights, patching]);
    await eventually(() => isAllowed(client, user, patching));
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length, evicted.length], [4, 8, 2]);
  });

  it('by Auto evicts the Pods of a Deployment whose template an admission policy keeps as it is', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await createOwner(shop, deployments, 'probe', 0);
    const deploymentUpdates = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'] };
    await admitBy(t, shop, {
      verb: 'Validating',
      policy: {
        matchConstraints: { resourceRules: [{ ...deploymentUpdates, resources: ['deployments'] }] },
        validations: [
          { expression: '!has(object.spec.template.metadata.annotations)', message: 'templates are frozen' },
        ],
      },
      binding: { validationActions: ['Deny'] },
    });
    const body = { spec: { template: { metadata: { annotations: { x: 'y' } } } } };
    const probe = () => client.patch(deployments, { namespace, name: 'probe' }, { type: 'merge', body });
    const isRefused = ({ message }: Error) => message.includes('templates are frozen');
    await eventually(() => probe().then(() => false, isRefused), { message: 'the policy is in force' });
    await shop.deploy(2);
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    await shop.watch({ ...atOnce, strategy: { type: 'Auto' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length, evicted.length], [2, 4, 2]);
    assert.deepEqual(await templateOf(shop, deployments, 'webapp'), {
      generation: 1,
      annotations: undefined,
    });
  });
});
