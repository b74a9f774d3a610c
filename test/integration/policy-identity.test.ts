/**
 * Which ServiceAccount the policies on the operator bind: the one that an overlay's names lead to, whatever it renames.
 * Where they bind none, new Ats and ConfigWatchers are refused, and nothing else is.
 */
import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { PolicySelfTest, type PolicySelfTestOptions } from '../../src/policy-self-test.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { EventBroadcaster } from '../../src/runtime/events/event-broadcaster.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { inOverlay, type Overlay } from './overlay.ts';
import { at, namespace, pod } from './policy-objects.ts';
import { operator, type PolicyWorld, startPolicyWorld, withoutBinding } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;
before(async () => {
  world = await startPolicyWorld();
});
after(() => world?.stop());

/** Of the kinds below, only what refers to a name. */
interface Referring extends KubernetesObject {
  readonly spec: {
    readonly policyName: string;
    readonly paramRef?: { readonly name: string };
    readonly template: { readonly spec: { readonly serviceAccountName: string } };
  };
  readonly roleRef: { readonly name: string };
  readonly subjects: readonly { readonly name: string; readonly namespace: string }[];
}

/** An overlay on another one, as many as there are. */
async function renderLayers([overlay, ...above]: readonly Overlay[], below?: string): Promise<Referring[]> {
  if (overlay === undefined) {
    const rendered = await world.kubectl(['kustomize', below ?? '']);
    return parseAllDocuments(rendered).map((document) => document.toJS());
  }
  const resources = below === undefined ? overlay.resources : [relative('config', below)];
  return await inOverlay({ ...overlay, resources }, (directory) => renderLayers(above, directory));
}

/** Each without a transformer, as a user writes it who has read nothing about the policies. */
const layers: Readonly<Record<string, readonly Overlay[]>> = {
  'nothing else': [{ resources: ['default'] }],
  'a namespace': [{ resources: ['default'], namespace: 'team-a' }],
  'a name prefix': [{ resources: ['default'], namePrefix: 'blue-' }],
  'a name suffix': [{ resources: ['default'], nameSuffix: '-blue' }],
  'all of them': [
    { resources: ['high-availability'], namespace: 'team-a', namePrefix: 'a-', nameSuffix: '-b' },
  ],
  'two layers of names': [
    { resources: ['default'], namespace: 'team-a', namePrefix: 'blue-' },
    { resources: [], namespace: 'team-b', namePrefix: 'new-', nameSuffix: '-2' },
  ],
  'names around one namespace': [{ resources: ['namespaced'], namePrefix: 'blue-' }],
};

describe('the policies on the operator bind its ServiceAccount in an overlay with', () => {
  for (const [name, overlays] of Object.entries(layers)) {
    it(name, async () => {
      const objects = await renderLayers(overlays);
      const named = (kind: string) => objects.filter((object) => object.kind === kind);
      const names = (kind: string) => named(kind).map(({ metadata }) => metadata.name);
      const policies = names('ValidatingAdmissionPolicy');
      const bindings = named('ValidatingAdmissionPolicyBinding');
      assert.deepEqual(bindings.map(({ spec }) => spec.policyName).sort(), [...policies].sort());
      const params = new Set(bindings.flatMap(({ spec }) => spec.paramRef?.name ?? []));
      const [identity, ...others] = named('ClusterRoleBinding').filter(({ metadata }) =>
        params.has(metadata.name),
      );
      assert.deepEqual([params.size, others], [1, []]);
      const [serviceAccount] = named('ServiceAccount');
      const [deployment] = named('Deployment');
      const { name: account = '', namespace: home = '' } = serviceAccount?.metadata ?? {};
      assert.deepEqual(identity?.subjects, [{ kind: 'ServiceAccount', name: account, namespace: home }]);
      assert.deepEqual(deployment?.spec.template.spec.serviceAccountName, account);
      assert.deepEqual(deployment?.metadata.namespace, home);
      assert.ok(names('ClusterRole').includes(identity?.roleRef.name ?? ''));
    });
  }
});

describe('while the policies on the operator bind no ServiceAccount', () => {
  const dryRun = ['create', '--dry-run=server', '--filename=-'];
  const named = (name: string) => ({ ...at, metadata: { ...at.metadata, name } });
  const silent = { recorder: { record: () => {} } };
  const watcher = {
    apiVersion: 'k8spatterns.io/v1',
    kind: 'ConfigWatcher',
    metadata: { name: 'new', namespace },
    spec: { configMap: 'config', podSelector: { app: 'web' } },
  };
  const identity = 'clusterrolebinding/team-atwatch-operator-identity';
  /** What is said against an object; nothing when it is admitted. */
  const refusal = (object: object) =>
    world.kubectl(dryRun, object).then(
      () => '',
      (error: Error) => error.message,
    );
  const change = (type: string, body: object) =>
    world.kubectl(['patch', identity, `--type=${type}`, `--patch=${JSON.stringify(body)}`]);
  /** What the operator's own test of its policy finds: 1 when it is in force, 0 when it is not. */
  const inForce = async (telling: Pick<PolicySelfTestOptions, 'recorder' | 'ownPod'> = silent) => {
    const [stop, registry] = [new AbortController(), new Registry()];
    const options = {
      clock: systemClock,
      log: silentLogger,
      ...telling,
      registry,
      namespace,
      namespaces: [],
    };
    const ended = new PolicySelfTest({ ...options, client: world.clientOf(operator) }).start(stop.signal);
    try {
      const [, value] = await eventually(
        async () => /^atwatch_operator_policy_in_force ([01])$/m.exec(await registry.metrics()) ?? undefined,
        { message: 'the policy is tested' },
      );
      return Number(value);
    } finally {
      stop.abort();
      await ended;
    }
  };
  /** The policies follow their parameter after a moment. */
  const eventuallySays = (object: object, says: RegExp) =>
    eventually(async () => says.test(await refusal(object)), {
      timeout: 30_000,
      interval: 200,
      message: String(says),
    });

  before(async () => {
    const stored = { ...at, metadata: { ...at.metadata, finalizers: ['example.com/kept'] } };
    await world.kubectl(['create', '--filename=-'], stored);
    await eventuallySays(pod({}, { ownerReferences: [] }), /^$/);
  });

  const broken: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
    [
      'because no user is named',
      () => change('merge', { subjects: null }),
      /team-atwatch-operator-identity does not name the ServiceAccount of the operator/,
    ],
    [
      'because the name is the one before any overlay',
      () =>
        change('merge', {
          subjects: [{ kind: 'ServiceAccount', name: 'controller-manager', namespace: 'system' }],
        }),
      /does not name the ServiceAccount of the operator/,
    ],
    [
      'because the parameter is gone',
      () => world.kubectl(['delete', identity]),
      /team-atwatch-operator-identity-check.*no params found/,
    ],
  ];
  it('is found not in force by a change of a ConfigWatcher as well, and told as an Event of its Pod', async (t) => {
    await world.kubectl(['create', '--filename=-'], { ...watcher, metadata: { name: 'tested', namespace } });
    assert.equal(await inForce(), 1);
    await withoutBinding(
      world,
      'operator-updates',
      async () => (await inForce()) === 1,
      async () => {
        const broadcaster = new EventBroadcaster({
          ...{ client: world.clientOf(operator), clock: systemClock, log: silentLogger },
          ...{ gate: openGate, instance: 'host-1' },
        });
        t.after(() => broadcaster.stop(2000));
        const ownPod = { namespace: 'other', name: 'atwatch-0' };
        assert.equal(await inForce({ recorder: broadcaster.recorder('atwatch'), ownPod }), 0);
        const selected = 'reason=PolicyNotInForce,involvedObject.name=atwatch-0';
        const list = ['get', 'events', '--namespace=other', `--field-selector=${selected}`];
        await eventually(
          async () =>
            /Warning +PolicyNotInForce .*the admission policy on the operator's updates/.test(
              await world.kubectl(list),
            ),
          { message: 'the Event' },
        );
      },
    );
  });

  for (const [why, breakIt, says] of broken) {
    it(`refuse new Ats and ConfigWatchers, and nothing else, ${why}`, async () => {
      assert.equal(await refusal(named('new')), '');
      assert.equal(await inForce(), 1);
      const before = JSON.parse(await world.kubectl(['get', identity, '--output=json']));
      await breakIt();
      try {
        await eventuallySays(named('new'), says);
        await eventuallySays(watcher, says);
        assert.equal(await refusal(pod({}, { ownerReferences: [] })), '');
        assert.equal(await inForce(), 0);
        const edits = [{ metadata: { finalizers: null } }, { spec: { cancel: true } }];
        for (const edit of edits) {
          const args = ['patch', 'at/stored', `--namespace=${namespace}`, '--dry-run=server', '--type=merge'];
          await world.kubectl([...args, `--patch=${JSON.stringify(edit)}`]);
        }
      } finally {
        const { name, labels, annotations } = before.metadata;
        const { apiVersion, kind, roleRef, subjects } = before;
        const object = { apiVersion, kind, roleRef, subjects, metadata: { name, labels, annotations } };
        await world.kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], object);
      }
      await eventuallySays(named('new'), /^$/);
    });
  }
});
