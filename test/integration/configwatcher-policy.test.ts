/**
 * The operator as src/operator.ts puts it together, while the policy does not bind it that keeps its right to patch
 * templates in bounds, and once it does again: on a control plane of its own, because policies hold everywhere.
 */
import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { parseCommandLine } from '../../src/config.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { createOperator, type OperatorOptions } from '../../src/operator.ts';
import { recordingLogger } from '../runtime/controller/fixtures.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { operator, type PolicyWorld, startPolicyWorld, withoutBinding } from './policy-world.ts';
import { eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';

let world: PolicyWorld;
before(async () => {
  world = await startPolicyWorld();
  process.env.KUBECONFIG = world.kubeconfig;
});
after(() => world?.stop());

function start(
  t: TestContext,
  namespace: string,
  options: Pick<OperatorOptions, 'clock' | 'kubeConfig' | 'log'>,
): void {
  const off = ['--metrics-bind-address=0', '--health-probe-bind-address=0'];
  const line = parseCommandLine([`--namespaces=${namespace}`, '--policy-self-test', ...off], {});
  assert.ok(line.command === 'run');
  const manager = createOperator({ ...options, config: line.config, version: 'test', hostName: 'test' });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
}

it('strategy Auto evicts while the policy self-test finds the policy lost, says so once, and then rolls out again', {
  timeout: 180_000,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  const travel = await timeTravel(t, world.kubeConfigOf(operator));
  const log = recordingLogger();
  const logged = (text: string) =>
    eventually(() => log.lines.some(({ message }) => message.includes(text)), { message: `it logs ${text}` });
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(1);
  await shop.watch({
    ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy: { type: 'Auto' } },
  });
  let restarts = 0;
  const restart = async () => {
    restarts++;
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: `edit ${restarts}` } });
    await eventually(() => shop.seen.length === 1 + restarts, { message: 'the Pod is replaced' });
    await shop.allReady(1);
    // So long the first new Pod has to serve.
    await travel.advanceAtRest(10_000);
    return shop.restarted(restarts);
  };
  const template = async () => {
    const { spec } = await client.get(deployments, { namespace, name: 'webapp' });
    return spec?.template?.metadata?.annotations;
  };
  const told = async () => {
    const { items } = await client.list(events, { namespace });
    return items.filter(({ reason }) => reason === 'AutoEvicts').map(({ series }) => series?.count ?? 1);
  };

  const patch = [
    ...['patch', 'deployment/webapp', `--namespace=${namespace}`, '--dry-run=server'],
    '--patch={"spec":{"replicas":2}}',
  ];
  const isInForce = async () => (await world.refusal(operator, patch)).includes('operator-updates');
  await withoutBinding(world, 'operator-updates', isInForce, async () => {
    start(t, namespace, { ...travel.options, log });
    await logged("the admission policy on the operator's updates does not bind this operator");
    await shop.baselined();
    for (const time of ['first', 'second']) {
      assert.equal((await restart()).strategyInUse, 'Evict', `the ${time} time`);
    }
    assert.equal(await template(), undefined);
    await eventually(async () => (await told()).length > 0, { message: 'an Event says so' });
  });

  // An hour later it asks again.
  await travel.advanceAtRest(3_600_000);
  await logged('the admission policies on the operator are in force');
  const { strategyInUse, lastRestart } = await restart();
  assert.equal(strategyInUse, 'Auto');
  assert.deepEqual(await template(), { [annotation]: lastRestart?.id });
  assert.deepEqual(await told(), [1], 'it was said once');
});
