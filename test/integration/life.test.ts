/** Controllers and informers that come and go while a Manager runs, and kinds that are declared wrong, on a real API server. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { configMaps, type Resource } from '../../src/kubernetes/objects.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { roleBindings, roles } from '../../src/kubernetes/types/rbac.generated.ts';
import { resourceFor } from '../../src/runtime/client/discovery.ts';
import { controllerManagedBy, type Host } from '../../src/runtime/controller/builder.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import type { Manager } from '../../src/runtime/manager/manager.ts';
import { widgets, widgetsDefinition } from '../conformance/subject.ts';
import { kubeConfigOf } from './rights.ts';
import { applyCrd, connectToTestCluster, eventually, testKubeConfig, withNamespace } from './support.ts';

const { client } = connectToTestCluster();
before(() => applyCrd(client, widgetsDefinition));

function managerOf(namespaces: readonly string[]): Manager {
  return createManager({ name: 'life-test', kubeConfig: testKubeConfig(), log: silentLogger, namespaces });
}

/** A controller that writes down which object it sees. */
function watching(host: Host, resource: Resource, name: string, namespaces: readonly string[]) {
  const seen: string[] = [];
  const controller = controllerManagedBy(host)
    .named(name)
    .for(resource, { namespaces })
    .complete({
      async reconcile({ namespace, name: object }) {
        seen.push(`${namespace}/${object}`);
        return {};
      },
    });
  return { seen, controller };
}

test('a controller is added to a running manager, in a namespace of its own, and stopped alone', async (t) => {
  const [one, two] = [await withNamespace(t), await withNamespace(t)];
  const manager = managerOf([one]);
  const first = watching(manager, widgets, 'first', [one]);
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  const create = (namespace: string, name: string) =>
    client.create(widgets, { metadata: { namespace, name }, spec: { size: 1 } });
  try {
    await create(one, 'a');
    await eventually(async () => first.seen.includes(`${one}/a`), { message: 'the first sees a' });
    const kind = await resourceFor(client, 'conformance.example.com/v1', 'Widget');
    assert.deepEqual(kind, widgets);
    const second = watching(manager, kind, 'second', [two]);
    await create(two, 'b');
    await eventually(async () => second.seen.includes(`${two}/b`), { message: 'the second sees b' });
    const { lister } = manager.informers.informerFor(widgets, { namespaces: [two] });
    assert.deepEqual(lister.list(two, { matches: ({ spec }) => spec.size === 1 }).length, 1);
    const watches = manager.informers.watches;
    await manager.remove(second.controller);
    manager.informers.remove(manager.informers.informerFor(widgets, { namespaces: [two] }));
    assert.equal(manager.informers.watches, watches - 1);
    await create(two, 'c');
    await create(one, 'c');
    await eventually(async () => first.seen.includes(`${one}/c`), { message: 'the first goes on' });
    assert.ok(!second.seen.includes(`${two}/c`), String(second.seen));
    assert.ok(
      first.seen.every((key) => key.startsWith(`${one}/`)),
      String(first.seen),
    );
  } finally {
    stop.abort();
    await running;
  }
});

test('an informer of one namespace needs rights there alone, which a manager of all namespaces waits for in vain', async (t) => {
  const [namespace, other] = [await withNamespace(t), await withNamespace(t)];
  const user = `reader-of-${namespace}`;
  await client.create(roles, {
    metadata: { namespace, name: user },
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }],
  });
  await client.create(roleBindings, {
    metadata: { namespace, name: user },
    roleRef: { apiGroup: roles.group, kind: roles.kind, name: user },
    subjects: [{ apiGroup: roles.group, kind: 'User', name: user }],
  });
  for (const place of [namespace, other]) {
    await client.create(secrets, { metadata: { namespace: place, name: 'a' }, data: {} });
  }
  const managerOfUser = () =>
    createManager({ name: 'life-test', kubeConfig: kubeConfigOf(user), log: silentLogger });

  const limited = managerOfUser();
  const { lister } = limited.informers.informerFor(secrets, { namespaces: [namespace] });
  const stop = new AbortController();
  const running = limited.start(stop.signal);
  try {
    await eventually(async () => lister.get(namespace, 'a'), { message: 'the Secret of the namespace' });
    assert.deepEqual(lister.list(other), []);
  } finally {
    stop.abort();
    await running;
  }

  const unlimited = managerOfUser();
  unlimited.informers.informerFor(secrets);
  await assert.rejects(
    unlimited.start(new AbortController().signal),
    /^ManagerError: secrets cannot be watched: /,
  );
});

const wrong = [
  {
    resource: { ...configMaps, kind: 'ConfigMaps' },
    sentence: /^configmaps \(v1\) has the kind ConfigMap on the API server, and is declared as ConfigMaps$/,
  },
  {
    resource: { ...widgets, namespaced: false },
    sentence:
      /^widgets\.conformance\.example\.com \(v1\) is namespaced on the API server, and is declared as cluster-scoped$/,
  },
  {
    resource: { ...configMaps, status: true },
    sentence: /^configmaps \(v1\) has no status subresource/,
  },
];
for (const { resource, sentence } of wrong) {
  test(`a manager does not start with a wrong resource: ${sentence.source}`, async () => {
    const manager = managerOf([]);
    manager.informers.informerFor(resource as Resource);
    await assert.rejects(manager.start(new AbortController().signal), { message: sentence });
  });
}
