/** The example operator on a real API server: one At for each firing, whatever happens to the process. */
import assert from 'node:assert/strict';
import { before, suite, type TestContext, test } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { isInvalid } from '../../src/runtime/client/api-error.ts';
import { events } from '../../src/runtime/events/event.ts';
import { CronTabProcess, everySecondOf, firingsOf, listAts } from './crontab-process.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from './support.ts';

interface CronTab extends KubernetesObject {
  readonly spec: { readonly cronSpec: string; readonly image: string; readonly replicas?: number };
  readonly status?: {
    readonly handledUntil?: string;
    readonly conditions?: readonly { readonly status: string; readonly message: string }[];
  };
}

const cronTabs: Resource<CronTab> = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
};

const everySecond = '* * * * * *';
const createdAt = ({ metadata }: CronTab) => Date.parse(metadata.creationTimestamp ?? '');
/** A lease expires after 15 s, and a candidate then wakes at once; its process may need long to start. */
const takeoverLimit = 60_000;

suite('examples/crontab', { concurrency: true }, () => {
  before(async () => {
    await applyCrds();
    await applyCrds('examples/crontab');
  });

  async function createCronTab(t: TestContext, spec: Partial<CronTab['spec']> = {}, name = 'tick') {
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    const cronTab = await client.create(cronTabs, {
      metadata: { namespace, name },
      spec: { cronSpec: everySecond, image: 'busybox', ...spec },
    });
    return { client, namespace, cronTab };
  }

  test('creates one At for each firing, also across kill -9 and a restart', async (t) => {
    const { client, namespace, cronTab } = await createCronTab(t);
    const first = new CronTabProcess(t, { namespace });
    const firstAts = await eventually(
      async () => {
        const found = await listAts(client, namespace);
        return found.length >= 4 && found;
      },
      { timeout: 30_000, message: 'four firings' },
    );
    first.send('SIGKILL');
    await first.ended;
    const [at] = firstAts;
    assert.equal(at?.metadata.name, `tick-${firingsOf(firstAts)[0]}-0`);
    assert.equal(at.metadata.ownerReferences?.[0]?.uid, cronTab.metadata.uid);
    assert.ok(firingsOf(firstAts).every((firing) => firing * 1000 > createdAt(cronTab)));

    // As its time to live would: what is gone has run, and must not run again. The last one that the status
    // knows of is young enough to be made up for, if nothing but its At said that it is done.
    const { status } = await client.get(cronTabs, { namespace, name: 'tick' });
    const handledUntil = Date.parse(status?.handledUntil ?? '') / 1000;
    await client.delete(ats, { namespace, name: `tick-${handledUntil}-0` });

    const second = new CronTabProcess(t, { namespace });
    await second.wrote('"msg":"leading"', takeoverLimit);
    const ledAt = Math.floor(Date.now() / 1000);
    const after = await eventually(
      async () => {
        const firings = firingsOf(await listAts(client, namespace));
        return (firings.at(-1) ?? 0) >= ledAt + 3 && firings;
      },
      { message: 'firings after the restart' },
    );
    assert.deepEqual(
      after,
      everySecondOf(after).filter((second) => second !== handledUntil),
    );
    assert.equal(second.output.includes('reconcile failed'), false, second.output);

    second.send('SIGTERM');
    assert.deepEqual(await second.ended, { code: 0, signal: null });
  });

  test('says that an expression cannot be read, once, and goes on when it is corrected', async (t) => {
    const { client, namespace } = await createCronTab(t, { cronSpec: 'whenever' });
    const key = { namespace, name: 'tick' };
    new CronTabProcess(t, { namespace });
    const condition = await eventually(
      async () => (await client.get(cronTabs, key)).status?.conditions?.[0],
      { timeout: 30_000, message: 'a condition' },
    );
    assert.equal(condition.status, 'False');
    assert.match(condition.message, /whenever/);
    const [event, ...others] = await eventually(async () => {
      const { items } = await client.list(events, { namespace });
      return items.length > 0 && items;
    });
    assert.equal(event?.reason, 'InvalidCronSpec');
    assert.equal(others.length, 0);

    await client.patch(cronTabs, key, {
      type: 'merge',
      body: { spec: { cronSpec: everySecond, replicas: 2 } },
    });
    const found = await eventually(async () => {
      const all = await listAts(client, namespace);
      return all.length >= 4 && all;
    });
    const [one, other] = firingsOf(found);
    assert.equal(one, other);
    const isReady = async () => (await client.get(cronTabs, key)).status?.conditions?.[0]?.status === 'True';
    await eventually(isReady, { message: 'it can be read now' });
  });

  test('a name that is too long for its Ats is refused', async (t) => {
    const fits = await createCronTab(t, {}, 'x'.repeat(50));
    assert.equal(fits.cronTab.spec.replicas, 1);
    await assert.rejects(createCronTab(t, {}, 'x'.repeat(51)), isInvalid);
  });
});
