/** Restarting writes that the API server refuses, for want of a right or by a policy: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { validatingAdmissionPolicies } from '../../src/kubernetes/types/admissionregistration.generated.ts';
import { evictingRights } from './configwatcher-evictions.ts';
import { Shop } from './configwatcher-shop.ts';
import { admitBy } from './pod-policy.ts';
import { grant, isAllowed, kubeConfigOf, type Rule, regrant } from './rights.ts';
import { eventually } from './support.ts';

const timeout = 240_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

const evicting: Rule = { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] };
const deleting: Rule = { apiGroups: [''], resources: ['pods'], verbs: ['delete'] };
/** All but the right to restart a Pod in whatever way. */
const others = evictingRights.filter(({ resources }) => !resources.includes('pods/eviction'));

/** `[status, reason, message]` */
function wordsOf(status: ConfigWatcherStatus, type: string) {
  const { status: isTrue, reason, message } = findCondition(status.conditions, type) ?? {};
  return [isTrue, reason, message];
}

/** The one that would go first. */
function oldest(found: readonly Pod[]): Pod {
  const time = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? '');
  const [first = assert.fail('it has Pods')] = [...found].sort(
    (left, right) => time(left) - time(right) || left.metadata.name.localeCompare(right.metadata.name, 'en'),
  );
  return first;
}

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  for (const { type, right, words } of [
    { type: 'Evict', right: evicting, words: 'the operator may not create pods/eviction here' },
    { type: 'Delete', right: deleting, words: 'the operator may not delete pods here' },
  ] as const) {
    it(`by ${type} that loses the right to it in mid-restart says which, and goes on when it has it again`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const user = `operator-of-${namespace}`;
      const mayRestart = () => isAllowed(client, user, right);
      await grant(t, client, user, [...others, right]);
      await eventually(mayRestart);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3);
      await shop.startOperator({ kubeConfig: kubeConfigOf(user) });
      await shop.watch({ ...atOnce, strategy: { type } });
      const { appliedHash } = await shop.baselined();
      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the first Pod goes' });
      await regrant(client, user, others);
      await eventually(async () => !(await mayRestart()), { message: 'the right is gone' });
      shop.isKubeletSlow = false;
      const isTold = (status: ConfigWatcherStatus) =>
        findCondition(status.conditions, 'Ready')?.reason === 'Forbidden';
      const refused = await shop.until('the missing right is told', isTold);
      assert.deepEqual(wordsOf(refused, 'Ready'), ['False', 'Forbidden', words]);
      assert.deepEqual(wordsOf(refused, 'Progressing'), ['True', 'Forbidden', words]);
      await shop.quiet();
      const { stalePods, lastRestart: begun, ...held } = await shop.status();
      assert.deepEqual([stalePods, begun?.restarted, held.appliedHash], [2, 1, appliedHash]);
      assert.deepEqual([isTold(held), (await shop.allReady(3)).length, shop.seen.length], [true, 3, 4]);

      await regrant(client, user, [...others, right]);
      await eventually(mayRestart, { message: 'the right is back' });
      const { lastRestart, history, ...done } = await shop.restarted(1);
      await shop.allReady(3);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, history?.length], [3, 0, 1]);
      assert.deepEqual([findCondition(done.conditions, 'Ready')?.reason, shop.seen.length], ['Watching', 6]);
    });

    it(`by ${type} restarts all but the Pod that a policy keeps, tells its words, and that one when the policy goes`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2);
      const { metadata: kept } = oldest(await shop.pods());
      await shop.deploy(3, 'Deployment', 'other');
      await shop.label(kept.name, { batch: 'open' });
      const message = 'a batch is open: ask the ledger team';
      const restart = {
        Evict: { operations: ['CREATE'], resources: ['pods/eviction'] },
        Delete: { operations: ['DELETE'], resources: ['pods'] },
      }[type];
      const expression = {
        // Of an eviction a policy sees the name of the Pod alone.
        Evict: `request.name != '${kept.name}'`,
        Delete: "!('batch' in oldObject.metadata.labels)",
      }[type];
      await admitBy(t, shop, {
        verb: 'Validating',
        policy: {
          matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], ...restart }] },
          // The code of the answer is the one of a missing right.
          validations: [{ expression, message, reason: 'Forbidden' }],
        },
        binding: { validationActions: ['Deny'] },
      });
      const key = { namespace, name: kept.name };
      const probe = () =>
        type === 'Delete' ? client.delete(pods, key, { dryRun: true }) : client.evict(key, { dryRun: true });
      const isRefused = (error: Error) => error.message.includes(message);
      await eventually(() => probe().then(() => false, isRefused), { message: 'the policy is in force' });
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy: { type, progressDeadlineSeconds: 15 } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const stuck = await shop.until('only that one is left', (status) => {
        return findCondition(status.conditions, 'Stalled') !== undefined && status.stalePods === 1;
      });
      const stalled = findCondition(stuck.conditions, 'Stalled');
      assert.equal(stalled?.reason, 'ProgressDeadlineExceeded');
      assert.match(stalled.message, /^Deployment webapp: .*a batch is open: ask the ledger team/);
      assert.equal((await shop.untilEvent('RestartStalled')).note, stalled.message);
      assert.deepEqual([stuck.lastRestart?.restarted, stuck.lastRestart?.failed], [4, 1]);
      assert.equal(findCondition(stuck.conditions, 'Ready')?.status, 'True', 'no right is missing');
      const left = await shop.allReady(5);
      assert.ok(left.some(({ metadata }) => metadata.uid === kept.uid));
      assert.equal(shop.seen.length, 9, 'each of the others was replaced once');

      const body = { spec: { validations: [{ expression: 'true' }] } };
      await client.patch(validatingAdmissionPolicies, { name: namespace }, { type: 'merge', body });
      const { lastRestart, ...done } = await shop.restarted(1);
      await shop.allReady(5);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [5, 0, 10]);
      assert.equal(findCondition(done.conditions, 'Stalled'), undefined);
    });
  }
});
