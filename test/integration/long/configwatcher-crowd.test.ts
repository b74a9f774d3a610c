/**
 * ConfigWatchers among a thousand that cannot work, on an API server whose audit log is the judge: what counts is the
 * order and the number of requests, which a slow machine does not change.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../../local-cluster/control-plane.ts';
import { configWatchers } from '../../../src/api/resources.ts';
import { type AuditedRequest, countByKind, requestsOf } from '../../bench/at-audit.ts';
import { inParallel } from '../../fixtures/in-parallel.ts';
import { OperatorProcess } from '../configwatcher-process.ts';
import { Shop } from '../configwatcher-shop.ts';
import { loosenCrd, mistakes } from '../lax-crd.ts';
import { eventually } from '../support.ts';

const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const podSelector = { app: 'webapp' };

const invalid = 500;
const withoutSource = 500;
const good = ['good-0', 'good-1', 'good-2'] as const;

let plane: ControlPlane;
before(async () => {
  plane = await startControlPlane({ auditLog: true });
  process.env.KUBECONFIG = plane.kubeconfig;
});
after(() => plane?.stop());

/** A thousand, each named after what becomes of it. */
async function createPoison({ client, namespace }: Shop): Promise<void> {
  const create = (name: string, spec: unknown) =>
    client.create(configWatchers, { metadata: { namespace, name }, spec: spec as never });
  await inParallel(invalid, 16, (index) =>
    create(`invalid-${index}`, mistakes[index % mistakes.length]?.spec),
  );
  await inParallel(withoutSource, 16, (index) =>
    create(`missing-${index}`, { configMap: `missing-${index}`, podSelector, ...atOnce }),
  );
}

/** Resolves when all of them say what is wrong with them. */
async function told({ client, namespace }: Shop): Promise<void> {
  const reasonOf = { invalid: 'InvalidSpec', missing: 'SourceMissing' } as Record<string, string>;
  const isTold = async () => {
    const { items } = await client.list(configWatchers, { namespace });
    const poison = items.filter(({ metadata }) => !metadata.name.startsWith('good-'));
    const odd = poison.find(({ metadata: { name }, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status !== 'False' || ready.reason !== reasonOf[name.split('-')[0] ?? ''];
    });
    if (odd) throw new Error(`${odd.metadata.name} says ${JSON.stringify(odd.status)}`);
    return poison.length === invalid + withoutSource;
  };
  await eventually(isTold, { timeout: 120_000, interval: 500, message: 'all are told' });
}

/** What the operator has asked about objects, watches aside. */
async function asked(): Promise<AuditedRequest[]> {
  const all = await requestsOf(plane.auditLog ?? '', /^atwatch\//);
  return all.filter(({ namespace }) => namespace !== '');
}

/** An edit of each good one, and its restart; resolves with how late that was, and how much for others went before it. */
async function round(
  shop: Shop,
  count: number,
): Promise<readonly { readonly late: number; readonly between: number }[]> {
  await shop.olderThanEdits();
  for (const name of good) await shop.patchConfigMap({ data: { message: `content ${count}` } }, name);
  const isDone = ({ restartCount, pending }: { restartCount?: number; pending?: object }) =>
    restartCount === count && pending === undefined;
  for (const name of good) await shop.until(`${name} has restarted its Pods`, isDone, { name });
  await shop.allReady(good.length);
  const edits = await requestsOf(plane.auditLog ?? '', /^atwatch-test/);
  const all = await asked();
  return good.map((name) => {
    const isEdit = (one: AuditedRequest) => one.what === 'patch configmaps' && one.name === name;
    const edited = edits.findLast(isEdit)?.received ?? Number.NaN;
    const isEviction = (one: AuditedRequest) =>
      one.what === 'create pods/eviction' && one.name.startsWith(`${name}-`) && one.received > edited;
    const evicted = all.find(isEviction)?.received ?? Number.NaN;
    const others = all.filter((one) => /^(invalid|missing)-/.test(one.name));
    const between = others.filter(({ received }) => received > edited && received < evicted);
    return { late: evicted - edited, between: between.length };
  });
}

it('a ConfigWatcher is not kept by a thousand that cannot work, and these cost nothing once they are told', {
  timeout: 290_000,
}, async (t) => {
  const shop = await Shop.open(t);
  await loosenCrd(shop);
  for (const name of good) {
    await shop.createConfigMap({ message: 'first' }, name);
    await shop.createWorkload(1, 'Deployment', name);
    await shop.watch({ ...atOnce, configMap: name, podSelector: { deployment: name } }, name);
  }
  await shop.allReady(good.length);
  new OperatorProcess(t, shop.namespace, ['--log-level=error']);
  for (const name of good) await shop.baselined(name);
  const undisturbed = await round(shop, 1);
  const [meanwhile] = await Promise.all([round(shop, 2), createPoison(shop)]);
  await told(shop);

  // Their Events come behind their statuses.
  const lastAsked = async () => Math.max(...(await asked()).map(({ received }) => received));
  await eventually(async () => Date.now() - (await lastAsked()) > 5000, {
    ...{ timeout: 90_000, interval: 1000 },
    message: 'nothing more is said of them',
  });
  const quietFrom = Date.now();
  await eventually(() => Date.now() >= quietFrom + 60_000, { timeout: 90_000, interval: 500 });
  const inMinute = (await asked()).filter(({ received }) => received >= quietFrom);
  assert.deepEqual([...countByKind(inMinute)], [], 'requests of a quiet minute');

  const afterwards = await round(shop, 3);
  t.diagnostic(JSON.stringify({ undisturbed, meanwhile, afterwards }));
  for (const { between } of meanwhile) {
    assert.ok(
      between <= (invalid + withoutSource) / 4,
      `${between} requests for others went before a restart`,
    );
  }
  assert.deepEqual(
    afterwards.map(({ between }) => between),
    [0, 0, 0],
  );
  const longest = Math.max(...undisturbed.map(({ late }) => late));
  const least = Math.min(...afterwards.map(({ late }) => late));
  assert.ok(least <= longest + 2000, `${least} ms late, and ${longest} at most without the bad ones`);
  assert.equal(shop.seen.length, 4 * good.length, 'each Pod was restarted once for each content');
});
