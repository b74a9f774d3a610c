import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import { goodFor } from '../../../src/configwatcher/facts/owner-age.ts';
import { OwnerReader } from '../../../src/configwatcher/facts/owner-reader.ts';
import { workloadOf } from '../../../src/configwatcher/facts/workload.ts';
import type { KubernetesObject, OwnerReference, Resource } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client, ObjectKey } from '../../../src/runtime/client/client.ts';
import { pod } from '../../fixtures/configwatcher.ts';

const { signal } = new AbortController();
const annotation = 'k8spatterns.io/restarted-for.web';
const selector = { matchLabels: { app: 'web' } };

function owner(kind: string, name: string, apiVersion = 'apps/v1'): OwnerReference {
  return { apiVersion, kind, name, uid: `${kind}-${name}`, controller: true };
}

function workload(kind: string, name: string, object: object, parent?: OwnerReference): KubernetesObject {
  const ownerReferences = parent ? [parent] : [];
  return { kind, metadata: { name, uid: `${kind}-${name}`, ownerReferences }, ...object };
}

const template = { metadata: { labels: { app: 'web' } } };

type Read = { facts: ReadonlyMap<string, OwnerFacts>; gets: string[] };

async function read(
  owners: readonly OwnerReference[],
  objects: readonly KubernetesObject[],
  otherwise = new ApiError('not found', 404, { reason: 'NotFound' }),
): Promise<Read> {
  return readerOf(objects, otherwise)(owners, 0);
}

/** Reads at an instant, with the GETs of all reads so far. */
function readerOf(
  objects: readonly KubernetesObject[],
  otherwise = new ApiError('not found', 404, { reason: 'NotFound' }),
): {
  (
    owners: readonly OwnerReference[],
    now: number,
    notBefore?: ReadonlyMap<string, number>,
    /** By uid. */
    inPlace?: readonly string[],
    annotated?: ReadonlyMap<string, string>,
  ): Promise<Read>;
  readonly gets: string[];
} {
  const gets: string[] = [];
  const client = {
    get: async ({ kind }: Resource, { name }: ObjectKey) => {
      gets.push(`${kind} ${name}`);
      const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
      if (!found) throw otherwise;
      return found;
    },
  } as unknown as Client;
  const reader = new OwnerReader(client);
  const readAt = async (
    owners: readonly OwnerReference[],
    now: number,
    notBefore: ReadonlyMap<string, number> = new Map(),
    inPlace: readonly string[] = [],
    annotated: ReadonlyMap<string, string> = new Map(),
  ) => {
    const pods = owners.flatMap((controller) => [pod({ controller }), pod({ controller })]);
    const facts = await reader.read({
      ...{ namespace: 'shop', pods, selector, annotation, annotated, now, notBefore, signal },
      places: inPlace.map((uid) => ({ uid, kind: '', wanted: 1, available: 0 })),
      changedAt: 0,
    });
    return { facts, gets };
  };
  return Object.assign(readAt, { gets });
}

describe('OwnerReader', () => {
  it('goes from ReplicaSets to their Deployment, which is read once', async () => {
    const deployment = owner('Deployment', 'web');
    const sets = [owner('ReplicaSet', 'web-6c5f9b'), owner('ReplicaSet', 'web-7d8b5c')];
    const { facts, gets } = await read(sets, [
      ...sets.map(({ name }) => workload('ReplicaSet', name, { spec: { replicas: 1 } }, deployment)),
      workload('Deployment', 'web', { spec: { replicas: 4, template } }),
    ]);
    assert.deepEqual(
      [...facts.values()],
      Array(2).fill({
        reference: deployment,
        wanted: 4,
        makesSelectedPods: true,
        rollout: { isUnchecked: true },
      }),
    );
    assert.equal(gets.length, 3);
  });

  it('asks for a Deployment before the answer about its ReplicaSet is there', async () => {
    const asked: string[] = [];
    const answers = Promise.withResolvers<void>();
    const client = {
      get: async ({ kind }: Resource, { name }: ObjectKey) => {
        asked.push(`${kind} ${name}`);
        await answers.promise;
        return kind === 'Deployment'
          ? workload('Deployment', 'web', { spec: { replicas: 4, template } })
          : workload('ReplicaSet', name, {}, owner('Deployment', 'web'));
      },
    } as unknown as Client;
    const pods = ['web-6c5f9b', 'web-7d8b5c'].map((name) => pod({ controller: owner('ReplicaSet', name) }));
    const at = { now: 0, notBefore: new Map(), changedAt: 0, places: [] };
    const request = { namespace: 'shop', pods, selector, annotation, signal, ...at };
    const reading = new OwnerReader(client).read(request);
    await new Promise(setImmediate);
    const all = ['ReplicaSet web-6c5f9b', 'Deployment web', 'ReplicaSet web-7d8b5c'];
    assert.deepEqual(asked, all);
    answers.resolve();
    assert.deepEqual(
      [...(await reading).values()].map(({ wanted }) => wanted),
      [4, 4],
    );
    assert.deepEqual(asked, all);
  });

  it('believes the ReplicaSet, not its name, about the owner', async () => {
    const set = owner('ReplicaSet', 'web-6c5f9b');
    const namesake = workload('Deployment', 'web', { spec: { replicas: 1, template } });
    const shop = owner('Deployment', 'shop');
    const replicaSet = workload('ReplicaSet', 'web-6c5f9b', { spec: { replicas: 9 } }, shop);
    const deployment = workload('Deployment', 'shop', { spec: { replicas: 4, template } });
    const { facts } = await read([set], [replicaSet, namesake, deployment]);
    assert.deepEqual(
      [...facts.values()].map(({ reference, wanted }) => [reference, wanted]),
      [[shop, 4]],
    );

    const alone = workload('ReplicaSet', 'web-6c5f9b', { spec: { replicas: 9, template } });
    const { facts: ofAlone } = await read([set], [alone]);
    assert.deepEqual(
      [...ofAlone.values()].map(({ reference, wanted }) => [reference, wanted]),
      [[set, 9]],
    );

    const made = { ...namesake, metadata: { ...namesake.metadata, uid: 'another' } };
    const ofWeb = workload('ReplicaSet', 'web-6c5f9b', {}, owner('Deployment', 'web'));
    const { facts: ofAnother, gets } = await read([set], [ofWeb, made]);
    assert.deepEqual(
      [...ofAnother.values()].map(({ wanted }) => wanted),
      [undefined],
    );
    const again = 'the first may be from before the ReplicaSet';
    assert.deepEqual(gets, ['ReplicaSet web-6c5f9b', 'Deployment web', 'Deployment web'], again);
  });

  it('asks for no Deployment where the ReplicaSet is known to have another owner, or none', async () => {
    const set = owner('ReplicaSet', 'web-6c5f9b');
    const rollout = owner('Rollout', 'web', 'argoproj.io/v1alpha1');
    for (const parent of [rollout, undefined]) {
      const readAt = readerOf([
        workload('ReplicaSet', 'web-6c5f9b', { spec: { replicas: 4, template } }, parent),
      ]);
      assert.equal((await readAt([set], 10_000)).gets.length, 2);
      assert.equal((await readAt([set], 10_000 + 3 * goodFor(1))).gets.length, 3);
    }
  });

  for (const [code, reason, error] of [
    [403, 'Forbidden', { name: 'MissingRight', verb: 'get', resource: 'deployments' }],
    [500, 'InternalError', /boom/],
  ] as const) {
    it(`tells a ${code} about the Deployment, asked once, only where it is the owner`, async () => {
      const set = owner('ReplicaSet', 'web-6c5f9b');
      const boom = new ApiError('boom', code, { reason });
      const owned = workload('ReplicaSet', 'web-6c5f9b', {}, owner('Deployment', 'web'));
      const readOwned = readerOf([owned], boom);
      await assert.rejects(readOwned([set], 0), error);
      const gets = readOwned.gets.filter((get) => get === 'Deployment web');
      assert.equal(gets.length, 1);

      const alone = workload('ReplicaSet', 'web-6c5f9b', { spec: { replicas: 9, template } });
      const { facts } = await read([set], [alone], boom);
      assert.deepEqual(
        [...facts.values()].map(({ wanted }) => wanted),
        [9],
      );
    });
  }

  it('takes what was read a moment ago, where that will do', async () => {
    const set = owner('ReplicaSet', 'web-6c5f9b');
    const readAt = readerOf([
      workload('ReplicaSet', 'web-6c5f9b', { spec: { replicas: 1 } }, owner('Deployment', 'web')),
      workload('Deployment', 'web', { spec: { replicas: 4, template } }),
    ]);
    const age = goodFor(1);
    const { facts: first } = await readAt([set], 10_000);
    const again = await readAt([set], 10_000 + age - 1);
    assert.deepEqual([again.facts, again.gets.length], [first, 2]);
    assert.equal((await readAt([set], 10_000 + 3 * age)).gets.length, 4);
    assert.equal((await readAt([set], 10_000)).gets.length, 6, 'nor one of the future');
  });

  it('reads again an owner whose controller has not seen its newest spec', async () => {
    const [reference, spec] = [owner('Deployment', 'web'), { replicas: 4, template }];
    const deployment = (observedGeneration: number) => {
      const { metadata, ...rest } = workload('Deployment', 'web', { spec, status: { observedGeneration } });
      return { ...rest, metadata: { ...metadata, generation: 2 } };
    };
    const objects = [deployment(1)];
    const readAt = readerOf(objects);
    const isBehind = async (now: number) =>
      (await readAt([reference], now)).facts.get(reference.uid)?.rollout?.isBehind;
    assert.equal(await isBehind(0), true);
    objects[0] = deployment(2);
    assert.equal(await isBehind(10), undefined);
    await isBehind(20);
    assert.equal(readAt.gets.length, 2, 'after that it is remembered');
  });

  it('reads it less often, the more owners are in the middle of their restarts with it', async () => {
    const reference = owner('Deployment', 'web');
    const { metadata, ...rest } = workload('Deployment', 'web', { status: { observedGeneration: 1 } });
    const readAt = readerOf([{ ...rest, metadata: { ...metadata, generation: 2 } }]);
    const reads = async (now: number, inPlace: readonly string[]) =>
      (await readAt([reference], now, new Map(), inPlace)).gets.length;
    const others = (count: number) => Array.from({ length: count }, (_, index) => `other-${index}`);
    const here = (count: number) => [...others(count), reference.uid];
    assert.equal(await reads(0, here(0)), 1);
    assert.equal(await reads(1, here(0)), 2, 'alone');
    assert.equal(await reads(2, others(50)), 3, 'its restart has not begun');
    assert.equal(await reads(391, here(39)), 3);
    assert.equal(await reads(392, here(39)), 4);
  });

  it('reads a Deployment again with the first Pod of a new ReplicaSet: its rollout has begun', async () => {
    const [deployment, before, after] = [
      owner('Deployment', 'web'),
      owner('ReplicaSet', 'web-6c5f9b'),
      owner('ReplicaSet', 'web-7d8b5c'),
    ];
    const revision = (number: string) => {
      const { metadata, ...rest } = workload('Deployment', 'web', { spec: { replicas: 4, template } });
      return {
        ...rest,
        metadata: { ...metadata, annotations: { 'deployment.kubernetes.io/revision': number } },
      };
    };
    const sets = [before, after].map(({ name }) => workload('ReplicaSet', name, {}, deployment));
    const objects = [revision('1'), ...sets];
    const readAt = readerOf(objects);
    const target = async (owners: readonly OwnerReference[], now: number) =>
      (await readAt(owners, now)).facts.get(before.uid)?.rollout?.target?.revision;
    assert.equal(await target([before], 0), '1');
    objects[0] = revision('2');
    assert.equal(await target([before], 100), '1', 'nothing tells of it');
    assert.equal(await target([before, after], 200), '2');
    const { length } = readAt.gets;
    await target([before, after], 300);
    assert.equal(readAt.gets.length, length, 'and remembers it');
  });

  it('reads a Deployment again where it is remembered with Pods that are gone: its rollout is further', async () => {
    const [deployment, set] = [owner('Deployment', 'web'), owner('ReplicaSet', 'web-6c5f9b')];
    const counting = (replicas: number, labels: object = template) =>
      workload('Deployment', 'web', { spec: { replicas: 2, template: labels }, status: { replicas } });
    const objects = [counting(3), workload('ReplicaSet', 'web-6c5f9b', {}, deployment)];
    const readAt = readerOf(objects);
    const counted = async (now: number) => (await readAt([set], now)).facts.get(set.uid)?.rollout?.pods;
    assert.equal(await counted(0), 3, 'two of them are listed');
    objects[0] = counting(2);
    assert.equal(await counted(100), 2);
    const { length } = readAt.gets;
    await counted(200);
    assert.equal(readAt.gets.length, length, 'and remembers it');
    objects[0] = counting(3, {});
    await counted(3000);
    objects[0] = counting(2, {});
    assert.equal(await counted(3100), 3, 'its Pods are not those that are listed');
  });

  it('reads again what this process wrote since then, and only that', async () => {
    const readAt = readerOf([
      workload('Deployment', 'web', { spec: { replicas: 4, template } }),
      workload('Deployment', 'db', { spec: { replicas: 4, template } }),
    ]);
    const owners = [owner('Deployment', 'web'), owner('Deployment', 'db')];
    await readAt(owners, 10_000);
    const { gets } = await readAt(owners, 10_001, new Map([['Deployment-web', 10_000]]));
    assert.deepEqual(gets, ['Deployment web', 'Deployment db', 'Deployment web']);
    assert.equal((await readAt(owners, 10_002, new Map([['Deployment-web', 10_000]]))).gets.length, 3);
  });

  it('asks for the owners of a big restart less often, and for those of any within half a minute', () => {
    assert.deepEqual([1, 40, 200, 10_000].map(goodFor), [2000, 2000, 10_000, 30_000]);
  });

  it('knows what each kind wants', async () => {
    const agents = ['agent', 'uncounted'].map((name) => owner('DaemonSet', name));
    const owners = [owner('StatefulSet', 'db'), ...agents, owner('ReplicaSet', 'alone')];
    const { facts } = await read(owners, [
      workload('StatefulSet', 'db', {
        spec: { replicas: 3, template: { metadata: { labels: { app: 'db' } } } },
      }),
      workload('DaemonSet', 'agent', { status: { observedGeneration: 1, desiredNumberScheduled: 7 } }),
      workload('DaemonSet', 'uncounted', { status: { desiredNumberScheduled: 0 } }),
      workload('ReplicaSet', 'alone', { spec: { template } }),
    ]);
    assert.deepEqual(
      [...facts.values()].map(({ wanted, makesSelectedPods }) => [wanted, makesSelectedPods]),
      [
        [3, false],
        [7, false],
        [undefined, false],
        [1, true],
      ],
    );
  });

  it('knows what a rollout would do', async () => {
    const owners = ['paused', 'marked', 'manual'].map((name, index) =>
      owner(index < 2 ? 'Deployment' : 'StatefulSet', name),
    );
    const marked = { metadata: { annotations: { [annotation]: 'change', other: 'x' } } };
    const { facts } = await read(
      [...owners, owner('ReplicaSet', 'set')],
      [
        workload('Deployment', 'paused', { spec: { paused: true } }),
        workload('Deployment', 'marked', { spec: { template: marked } }),
        workload('StatefulSet', 'manual', { spec: { updateStrategy: { type: 'OnDelete' } } }),
        workload('ReplicaSet', 'set', { spec: { template: marked } }),
      ],
    );
    assert.deepEqual(
      [...facts.values()].map(({ rollout }) => rollout),
      [
        { isUnchecked: true, held: 'Paused' },
        { isUnchecked: true, restartedFor: 'change' },
        { isUnchecked: true, held: 'OnDelete' },
        undefined,
      ],
    );
  });

  it('knows a custom owner and one that is gone by its reference alone', async () => {
    const custom = owner('Game', 'g', 'example.org/v1');
    const gone = owner('StatefulSet', 'gone');
    const { facts, gets } = await read([custom, gone], []);
    assert.deepEqual(
      [...facts.values()],
      [
        { reference: custom, makesSelectedPods: false },
        { reference: gone, makesSelectedPods: false, isGone: true },
      ],
    );
    assert.deepEqual(gets, ['StatefulSet gone']);
  });

  it('does not take another object of the same name for the owner', async () => {
    const old = { ...owner('StatefulSet', 'db'), uid: 'the old one' };
    const { facts } = await read([old], [workload('StatefulSet', 'db', { spec: { replicas: 3 } })]);
    assert.deepEqual([...facts.values()], [{ reference: old, makesSelectedPods: false, isGone: true }]);
  });

  it('fails when the API server does: a failure is not an absent owner', async () => {
    await assert.rejects(read([owner('StatefulSet', 'db')], [], new ApiError('boom', 500, {})), /boom/);
  });

  it('says which right is missing where an owner may not be read', async () => {
    const forbidden = new ApiError('no', 403, { reason: 'Forbidden' });
    await assert.rejects(read([owner('StatefulSet', 'db')], [], forbidden), {
      name: 'MissingRight',
      verb: 'get',
      resource: 'statefulsets',
    });
  });

  it('does not take a kind of another group for its own', () => {
    assert.equal(workloadOf(owner('Deployment', 'x', 'example.org/v1')), undefined);
  });
});

describe('OwnerReader, of a selector that names what a controller adds to the labels of its Pods', () => {
  const kinds = { Deployment: 'pod-template-hash', StatefulSet: 'apps.kubernetes.io/pod-index' };
  for (const [kind, key] of Object.entries(kinds)) {
    it(`knows of a ${kind} that its Pods have ${key}`, async () => {
      const reference = owner(kind, 'web');
      const get = async () => workload(kind, 'web', { spec: { replicas: 1, template } });
      const makesSelected = async (operator: 'Exists' | 'DoesNotExist') => {
        const facts = await new OwnerReader({ get } as unknown as Client).read({
          ...{ namespace: 'shop', pods: [pod({ controller: reference })], annotation, signal },
          selector: { ...selector, matchExpressions: [{ key, operator }] },
          ...{ now: 0, notBefore: new Map(), places: [], changedAt: 0 },
        });
        return facts.get(reference.uid)?.makesSelectedPods;
      };
      assert.deepEqual([await makesSelected('Exists'), await makesSelected('DoesNotExist')], [true, false]);
    });
  }
});

describe('OwnerReader, of a Deployment', () => {
  it('knows of a Deployment whose Pods the API server refuses', async () => {
    const deployment = owner('Deployment', 'web');
    for (const status of ['True', 'False']) {
      const conditions = [{ type: 'ReplicaFailure', status, reason: 'FailedCreate' }];
      const object = { spec: { replicas: 4, template }, status: { conditions } };
      const { facts } = await read([deployment], [workload('Deployment', 'web', object)]);
      assert.equal(facts.get(deployment.uid)?.rollout?.lacksPods, status === 'True' ? true : undefined);
    }
  });
});

describe('OwnerReader, of a workload whose rollout finds out what does not work', () => {
  for (const [what, checked] of Object.entries({
    'a probe of each container': {
      template: { spec: { containers: [{ readinessProbe: {} }, { startupProbe: {} }] } },
    },
    'a readiness gate': { template: { spec: { readinessGates: [{ conditionType: 'example.org/ready' }] } } },
    minReadySeconds: { minReadySeconds: 10 },
  })) {
    it(`knows it by ${what}, also from what it remembers`, async () => {
      const reader = readerOf([workload('Deployment', 'web', { spec: checked })]);
      for (const now of [0, 100]) {
        const { facts, gets } = await reader([owner('Deployment', 'web')], now);
        assert.deepEqual(
          [...facts.values()].map(({ rollout }) => rollout),
          [{}],
        );
        assert.deepEqual(gets, ['Deployment web']);
      }
    });
  }
});

describe('what was read of an owner', () => {
  it('is too old where its template has changed since, as status says', async () => {
    const web = workload('Deployment', 'web', { spec: { replicas: 4, template } });
    const annotated = {
      ...template,
      metadata: { ...template.metadata, annotations: { [annotation]: 'one' } },
    };
    const objects = [web];
    const readAt = readerOf(objects);
    const read = async (now: number, told: ReadonlyMap<string, string>) => {
      const { facts, gets } = await readAt([owner('Deployment', 'web')], now, new Map(), [], told);
      return [[...facts.values()][0]?.rollout?.restartedFor, gets.length];
    };
    assert.deepEqual(await read(10_000, new Map()), [undefined, 1]);
    objects[0] = { ...web, spec: { replicas: 4, template: annotated } } as KubernetesObject;
    assert.deepEqual(await read(10_001, new Map()), [undefined, 1]);
    const told = new Map([['Deployment-web', 'one']]);
    assert.deepEqual(await read(10_002, told), ['one', 2]);
    assert.deepEqual(await read(10_003, told), ['one', 2]);
  });
});

describe('the partition of a StatefulSet', () => {
  it('counts from the first ordinal on', async () => {
    const partitionOf = async (spec: object, partition: number) => {
      const updateStrategy = { rollingUpdate: { partition } };
      const set = workload('StatefulSet', 'db', {
        spec: { ...spec, updateStrategy },
        status: { updateRevision: 'r2' },
      });
      const { facts } = await read([owner('StatefulSet', 'db')], [set]);
      return [...facts.values()][0]?.rollout?.target?.partition;
    };
    const ordinals = { start: 5 };
    assert.deepEqual(
      [await partitionOf({}, 2), await partitionOf({ ordinals }, 2), await partitionOf({ ordinals }, 0)],
      [2, 7, 0],
    );
  });
});
