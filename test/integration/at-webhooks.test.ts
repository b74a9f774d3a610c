/** What webhooks answer to the dry run of a Pod long before its At is due, on the real API server. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { ats } from '../../src/api/resources.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { BenchApiServer } from '../bench/bench-api-server.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import { base64, etcd } from './etcd.ts';
import type { Asked } from './hostile-proxy.ts';
import { objection } from './pod-admission.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';
import { startWebhook, type Verdict, webhookConfigurations } from './webhook.ts';

const minute = 60_000;

before(() => applyCrds());

/** Resolves once so many creates of Pods, dry runs among them, were answered to the operator with the code. */
function answered(registry: Registry, code: number, count: number): Promise<boolean> {
  const line = new RegExp(`^rest_client_requests_total\\{code="${code}",method="POST".*\\} ${count}$`, 'm');
  return eventually(async () => line.test(await registry.metrics()), {
    message: `${count} creates are answered with ${code}`,
  });
}

/** A webhook for Pods that is in force, and an At in whose time nothing is near. */
async function webhooked(t: TestContext, verdict: () => Verdict) {
  const rig = await AtRig.create(t);
  const webhook = await startWebhook(t, rig.client, rig.namespace, async () => verdict(), 'pods');
  await eventually(async () => (await objection(rig)) !== '', { message: 'the webhook is in force' });
  const travel = await timeTravel(t);
  const registry = new Registry();
  await rig.startOperator({ ...travel.options, registry });
  let travelledMs = 0;
  const advance = async (ms: number) => {
    travelledMs += ms;
    await travel.advanceAtRest(ms);
  };
  /** Two hours from now, so that no dry run but the hourly one of a refused Pod comes before. */
  const due = Date.now() + 120 * minute;
  // Pods are made in the API server's own time: two hours ago, as the operator sees it.
  await rig.createAt({ schedule: new Date(due).toISOString(), pendingTimeoutSeconds: 0 });
  const isDryRun = ({ query }: Asked) => query.get('dryRun') === 'All';
  return {
    ...{ rig, webhook, registry, advance },
    dryRuns: () => travel.proxy.asked.filter(isDryRun).length,
    /** Not further than to it: a launch counts as late after some seconds. */
    advanceToDue: () => advance(due - Date.now() - travelledMs),
  };
}

describe('a webhook that takes no dry runs', () => {
  let server: BenchApiServer;
  before(async () => {
    server = await BenchApiServer.start();
    await eventually(() => server.client.list(ats), { message: 'Ats are served' });
  });
  after(() => server?.stop());

  /** As an API server before 1.22 has stored it, and every later one obeys it: today's do not take it any more. */
  async function giveSideEffects(name: string): Promise<void> {
    const stored = await server.client.get(webhookConfigurations, { name });
    const value = {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: webhookConfigurations.kind },
      ...stored,
      webhooks: stored.webhooks.map((webhook) => ({ ...webhook, sideEffects: 'Some' })),
    };
    await etcd(server.plane, '/v3/kv/put', {
      key: base64(`/registry/${webhookConfigurations.plural}/${name}`),
      value: base64(JSON.stringify(value)),
    });
  }

  it('says nothing about the Pod, which is launched when it is due', async (t) => {
    const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: server.plane.kubeconfig } });
    const rig = new AtRig(server.client, kubeConfig, await server.namespace('no-dry-runs'));
    t.after(() => rig.stopOperators());
    const webhook = await startWebhook(t, rig.client, rig.namespace, async () => ({}), 'pods');
    await giveSideEffects(rig.namespace);
    const sentence = /admission webhook "test.webhook.example.com" does not support dry run/;
    await eventually(async () => sentence.test(await objection(rig)), {
      message: 'the webhook takes no dry runs',
    });
    const before = webhook.asked;
    const registry = new Registry();
    await rig.startOperator({ registry });
    // Long enough ahead for its Pod to be tried before.
    await rig.createAt({ schedule: new Date(Date.now() + 20_000).toISOString() });
    await answered(registry, 400, 1);
    const { status } = await rig.atWhen('accepted', (at) => at.status?.reason === 'Armed');
    assert.equal(condition(status, 'PodAdmitted'), undefined);
    assert.equal(condition(status, 'Ready'), 'True Armed');
    const running = await rig.inPhase('RUNNING', undefined, 60_000);
    // Once there, the condition would have stayed.
    assert.equal(condition(running.status, 'PodAdmitted'), undefined);
    assert.equal(webhook.asked - before, 1, 'it is asked about the create alone');
    assert.deepEqual(await rig.eventsToLaunch(), ['Launched']);
  });
});

/** As a webhook answers that has looked at a field. It may change its mind, so the template is not at fault for good. */
const invalid = {
  details: {
    ...{ name: 'example-at-pod', kind: 'Pod' },
    causes: [{ reason: 'FieldValueInvalid', message: 'bad', field: 'spec.containers[0].image' }],
  },
};

describe('a webhook that denies the Pod', { concurrency: true }, () => {
  for (const [code, more] of [
    [403, {}],
    [400, {}],
    [422, invalid],
  ] as const) {
    it(`with ${code} is told once and leaves the At Ready, which runs when the webhook is gone`, async (t) => {
      let message = 'not on a Friday';
      const verdict = () => ({ allowed: false, status: { code, message, ...more } });
      const { rig, webhook, registry, dryRuns, advance, advanceToDue } = await webhooked(t, verdict);
      const refused = await rig.atWhen(
        'refused',
        ({ status }) => condition(status, 'PodAdmitted') === 'False PodRejected',
      );
      const denied = 'admission webhook "test.webhook.example.com" denied the request: ';
      assert.deepEqual(
        [refused.status?.phase, refused.status?.reason, refused.status?.message],
        ['PENDING', 'PodRejected', `${denied}not on a Friday`],
      );
      for (const type of ['Accepted', 'Ready'])
        assert.equal(condition(refused.status, type), 'True Armed', type);
      assert.equal(condition(refused.status, 'Stalled'), undefined);
      await answered(registry, code, 1);

      // An hour later for another cause, which status tells, and no second Warning.
      message = 'nor on a Saturday';
      for (const minutes of [20, 20, 11, 1]) await advance(minutes * minute);
      await advance(0);
      assert.equal(dryRuns(), 1, 'chance takes six minutes from an hour at most');
      await advance(15 * minute);
      await answered(registry, code, 2);
      assert.equal(dryRuns(), 2);
      const again = `${denied}nor on a Saturday`;
      await rig.atWhen('refused again', ({ status }) => status?.message === again);
      await webhook.remove();
      await eventually(async () => (await objection(rig)) === '', { message: 'the webhook is gone' });
      await advanceToDue();
      const running = await rig.inPhase('RUNNING');
      assert.equal(condition(running.status, 'PodAdmitted'), 'True Launched');
      assert.deepEqual(await rig.eventsToLaunch(), ['PodRejected (W)', 'Launched']);
      assert.equal((await rig.notes())[0], `${denied}not on a Friday`);
    });
  }
});
