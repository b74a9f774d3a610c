/**
 * Conformance of evictions. Where a controller works, it writes the status of a budget; the rows write the same.
 */
import assert from 'node:assert/strict';
import {
  assertRefused,
  type ConformanceRow,
  newName,
  pathsOf,
  podBody,
  type Subject,
  succeeded,
} from './subject.ts';

interface Crowd {
  readonly app: string;
  readonly names: readonly string[];
}

/** Pods with one label. */
async function crowd({ api, namespace }: Subject, count: number, ready = true): Promise<Crowd> {
  const { pods } = pathsOf(namespace);
  const app = newName('app');
  const names = Array.from({ length: count }, () => newName('p'));
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] };
  for (const name of names) {
    succeeded(await api.send('POST', pods, { body: podBody(name, {}, { labels: { app } }) }));
    succeeded(await api.send('PATCH', `${pods}/${name}/status`, { body: { status } }));
  }
  return { app, names };
}

/** A budget for a crowd, when its status is known. */
async function budget(
  { api, namespace }: Subject,
  { app, names }: Crowd,
  { minAvailable, healthy, spec = {} }: { minAvailable: number; healthy: number; spec?: object },
): Promise<string> {
  const { budgets } = pathsOf(namespace);
  const name = newName('b');
  const body = { metadata: { name }, spec: { minAvailable, selector: { matchLabels: { app } }, ...spec } };
  succeeded(await api.send('POST', budgets, { body }));
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: Math.max(0, healthy - minAvailable),
    currentHealthy: healthy,
    desiredHealthy: minAvailable,
    expectedPods: names.length,
  };
  succeeded(await api.send('PATCH', `${budgets}/${name}/status`, { body: { status } }));
  return name;
}

function evict({ api, namespace }: Subject, name = '', deleteOptions?: object, query = '') {
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...(deleteOptions && { deleteOptions }),
  };
  return api.send('POST', `${pathsOf(namespace).pods}/${name}/eviction${query}`, { body });
}

const violation = {
  code: 429,
  reason: 'TooManyRequests',
  message: "Cannot evict pod as it would violate the pod's disruption budget.",
};

export const evictionRows: readonly ConformanceRow[] = [
  {
    title: 'without a budget a Pod is deleted, and says why it ends',
    async run(subject) {
      const { names } = await crowd(subject, 1);
      const { body } = succeeded(await evict(subject, names[0]));
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        code: 201,
      });
      const pod = await subject.api.send('GET', `${pathsOf(subject.namespace).pods}/${names[0]}`);
      assert.equal(pod.body.metadata.deletionGracePeriodSeconds, 30);
      const condition = pod.body.status.conditions.find(
        ({ type }: { type: string }) => type === 'DisruptionTarget',
      );
      assert.deepEqual(
        [condition.status, condition.reason, condition.message],
        ['True', 'EvictionByEvictionAPI', 'Eviction API: evicting'],
      );
      succeeded(await evict(subject, names[0]));
    },
  },
  {
    title: 'a budget that is used up refuses with 429 and the numbers, also a dry run and a wrong uid',
    async run(subject) {
      const pods = await crowd(subject, 2);
      const name = await budget(subject, pods, { minAvailable: 2, healthy: 2 });
      for (const answer of [
        await evict(subject, pods.names[0]),
        await evict(subject, pods.names[0], undefined, '?dryRun=All'),
        await evict(subject, pods.names[0], { preconditions: { uid: 'x' } }),
      ]) {
        assert.deepEqual(assertRefused(answer, violation), [
          {
            reason: 'DisruptionBudget',
            message: `The disruption budget ${name} needs 2 healthy pods and has 2 currently`,
          },
        ]);
        assert.equal(answer.headers['retry-after'], undefined);
      }
    },
  },
  {
    title: 'an eviction uses up its budget, a dry run does not',
    async run(subject) {
      const { api, namespace } = subject;
      const pods = await crowd(subject, 2);
      const name = await budget(subject, pods, { minAvailable: 1, healthy: 2 });
      succeeded(await evict(subject, pods.names[0], undefined, '?dryRun=All'));
      succeeded(await evict(subject, pods.names[0], { dryRun: ['All'] }));
      succeeded(await evict(subject, pods.names[0]));
      const { body } = await api.send('GET', `${pathsOf(namespace).budgets}/${name}`);
      assert.equal(body.status.disruptionsAllowed, 0);
      assertRefused(await evict(subject, pods.names[1]), violation);
    },
  },
  {
    title: 'an eviction with a wrong uid is a conflict, after it has used up its budget',
    async run(subject) {
      const { api, namespace } = subject;
      const pods = await crowd(subject, 2);
      const name = await budget(subject, pods, { minAvailable: 1, healthy: 2 });
      assertRefused(await evict(subject, pods.names[0], { preconditions: { uid: 'x' } }), {
        code: 409,
        reason: 'Conflict',
        message:
          /^Operation cannot be fulfilled on Pod ".*": the UID in the precondition \(x\) does not match the UID in record/,
      });
      const { body } = await api.send('GET', `${pathsOf(namespace).budgets}/${name}`);
      assert.deepEqual(Object.keys(body.status.disruptedPods), [pods.names[0]]);
    },
  },
  {
    title: 'two budgets for one Pod are an error of the server',
    async run(subject) {
      const pods = await crowd(subject, 2);
      await budget(subject, pods, { minAvailable: 1, healthy: 2 });
      await budget(subject, pods, { minAvailable: 1, healthy: 2 });
      assertRefused(await evict(subject, pods.names[0]), {
        code: 500,
        message:
          'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      });
    },
  },
  {
    title: 'a Pod that is not ready goes where the budget allows that, or has enough of the healthy',
    async run(subject) {
      const strict = await crowd(subject, 2, false);
      await budget(subject, strict, { minAvailable: 1, healthy: 0 });
      assertRefused(await evict(subject, strict.names[0]), violation);
      const lenient = await crowd(subject, 2, false);
      const spec = { unhealthyPodEvictionPolicy: 'AlwaysAllow' };
      await budget(subject, lenient, { minAvailable: 1, healthy: 0, spec });
      succeeded(await evict(subject, lenient.names[0]));
    },
  },
  {
    title: 'what has ended or has not begun is evicted past every budget',
    async run(subject) {
      const { api, namespace } = subject;
      const pods = await crowd(subject, 2);
      const phases = ['Failed', 'Pending'];
      for (const [index, phase] of phases.entries()) {
        const path = `${pathsOf(namespace).pods}/${pods.names[index]}/status`;
        succeeded(await api.send('PATCH', path, { body: { status: { phase } } }));
      }
      await budget(subject, pods, { minAvailable: 2, healthy: 0 });
      for (const name of pods.names) succeeded(await evict(subject, name));
      assert.equal((await api.send('GET', `${pathsOf(namespace).pods}/${pods.names[0]}`)).code, 404);
    },
  },
  {
    title: 'an eviction names the Pod of its path, which exists',
    async run(subject) {
      const { api, namespace } = subject;
      const { names } = await crowd(subject, 1);
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } };
      assertRefused(await api.send('POST', `${pathsOf(namespace).pods}/${names[0]}/eviction`, { body }), {
        code: 400,
        reason: 'BadRequest',
        message: 'name in URL does not match name in Eviction object',
      });
      assertRefused(await evict(subject, 'missing'), {
        code: 404,
        reason: 'NotFound',
        message: 'pods "missing" not found',
      });
    },
  },
];
