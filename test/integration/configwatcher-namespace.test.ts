/** The real process, which WATCH_NAMESPACE limits to one namespace, with rights in no other: on a real API server. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { OperatorProcess } from './configwatcher-process.ts';
import { Shop } from './configwatcher-shop.ts';
import { grantIn, isAllowed, kubeConfigOf, type Rule } from './rights.ts';
import { eventually } from './support.ts';

it('an operator with WATCH_NAMESPACE works there alone, and needs no rights elsewhere', {
  timeout: 120_000,
}, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-namespace-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [shop, other] = [await Shop.open(t), await Shop.open(t)];
  const { client, namespace } = shop;
  for (const one of [shop, other]) {
    await one.createConfigMap({ message: 'first' });
    await one.deploy(1);
    await one.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  }
  const user = `operator-of-${namespace}`;
  const { rules }: { rules: Rule[] } = parse(await readFile('config/rbac/permissions/role.yaml', 'utf8'));
  await grantIn(shop, user, rules);
  const last = rules.at(-1) ?? assert.fail('it has rules');
  await eventually(() => isAllowed(client, user, last, namespace), { message: 'the rights are in force' });
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeConfigOf(user).exportConfig());
  const env = { KUBECONFIG: kubeconfig, WATCH_NAMESPACE: namespace };
  const operator = new OperatorProcess(t, namespace, [], { env });
  await shop.baselined();
  await other.patchConfigMap({ data: { message: 'second' } });
  await shop.patchConfigMap({ data: { message: 'second' } });
  await shop.restarted(1);
  await shop.allReady(1);
  const { status } = await other.watcher();
  assert.deepEqual(status, { observedGeneration: -1 }, 'the other one was never looked at');
  assert.deepEqual([shop.seen.length, other.seen.length], [2, 1]);
  assert.doesNotMatch(operator.output, /forbidden/i, 'it has asked for nothing that it may not do');
});
