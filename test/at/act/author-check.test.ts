import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorCheck } from '../../../src/at/act/author-check.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { waiting } from '../../fixtures/at.ts';

const stamp = (author: object) => ({ 'cnat.programming-kubernetes.info/author': JSON.stringify(author) });
const ann = { username: 'ann', uid: 'u-1', groups: ['dev'], extra: { scopes: ['a', 'b'] } };
const noon = '2026-01-01T12:00:00Z';
const created = (creationTimestamp: string, annotations: Readonly<Record<string, string>> = stamp(ann)) =>
  waiting({}, { namespace: 'shop', creationTimestamp, annotations });
const { signal } = new AbortController();

/** An API server with a policy and binding of noon, unless it is said otherwise, and one right. */
class Cluster {
  readonly clock = new FakeClock();
  readonly reviews: object[] = [];
  policies: object[] = [{ metadata: { name: 'p', creationTimestamp: '2026-01-01T11:00:00Z' } }];
  bindings: object[] = [{ metadata: { name: 'b', creationTimestamp: noon }, spec: { policyName: 'p' } }];
  allowed = true;
  error: Error | undefined;
  lists = 0;
  /** Reviews are answered after this. */
  held: Promise<void> | undefined;
  readonly check: AuthorCheck;

  constructor() {
    const client = {
      list: async ({ plural }: { plural: string }, { labelSelector }: { labelSelector: string }) => {
        this.lists += 1;
        assert.equal(labelSelector, 'cnat.programming-kubernetes.info/author-check=true');
        return { items: plural === 'mutatingadmissionpolicies' ? this.policies : this.bindings };
      },
      create: async (_resource: object, { metadata, spec }: { metadata: object; spec: object }) => {
        this.reviews.push({ metadata, spec });
        await this.held;
        if (this.error) throw this.error;
        return { metadata: {}, status: { allowed: this.allowed } };
      },
    } as unknown as Client;
    this.check = new AuthorCheck(client, this.clock);
  }
}

test('an author who may create Pods is asked about as the API server knew them', async () => {
  const cluster = new Cluster();
  assert.deepEqual(await cluster.check.authorize(created('2026-01-01T12:00:10Z'), signal), {
    username: 'ann',
  });
  const { username: user, uid, groups, extra } = ann;
  assert.deepEqual(cluster.reviews, [
    {
      metadata: { name: '', namespace: 'shop' },
      spec: {
        ...{ user, uid, groups, extra },
        resourceAttributes: { namespace: 'shop', verb: 'create', version: 'v1', resource: 'pods' },
      },
    },
  ]);
});

test('an answer holds for a minute', async () => {
  const cluster = new Cluster();
  const ask = () => cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal);
  await ask();
  cluster.allowed = false;
  await cluster.clock.advanceAsync(59_999);
  assert.deepEqual(await ask(), { username: 'ann' });
  await cluster.clock.advanceAsync(1);
  assert.deepEqual(await ask(), { refusal: 'its author "ann" may not create Pods in the namespace "shop"' });
});

test('of Ats of one author that are due together, one asks', async () => {
  const cluster = new Cluster();
  await cluster.clock.advanceAsync(Date.parse('2026-01-01T14:00:00Z') - cluster.clock.now());
  const ats = Array.from({ length: 100 }, () => created('2026-01-01T13:00:00Z'));
  const answers = await Promise.all(ats.map((at) => cluster.check.authorize(at, signal)));
  assert.ok(answers.every((answer) => 'username' in answer && answer.username === 'ann'));
  assert.deepEqual([cluster.reviews.length, cluster.lists], [1, 2]);
});

test('of Ats that were just created, so that an answer under way may be too early, one asks again', async () => {
  const cluster = new Cluster();
  await cluster.clock.advanceAsync(Date.parse('2026-01-01T13:00:01Z') - cluster.clock.now());
  const ats = Array.from({ length: 100 }, () => created('2026-01-01T13:00:00Z'));
  await Promise.all(ats.map((at) => cluster.check.authorize(at, signal)));
  assert.deepEqual([cluster.reviews.length, cluster.lists], [1, 4]);
});

test('that the policy was there a moment before an At was created does not speak for that', async () => {
  const cluster = new Cluster();
  await cluster.clock.advanceAsync(Date.parse('2026-01-01T13:00:05Z') - cluster.clock.now());
  await cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal);
  cluster.bindings = [];
  const forged = () => cluster.check.authorize(created('2026-01-01T13:00:04Z'), signal);
  const refusal = 'no admission policy records the authors of Ats: apply config/author-check';
  assert.deepEqual(await forged(), { refusal });
  cluster.bindings = [
    { metadata: { name: 'b', creationTimestamp: '2026-01-01T13:00:06Z' }, spec: { policyName: 'p' } },
  ];
  await cluster.clock.advanceAsync(1000);
  assert.deepEqual(await forged(), {
    refusal: 'it is older than the policy that records authors: delete it and create it again',
  });
});

test('an At that waits for the answer to another one goes by its own signal', async () => {
  const cluster = new Cluster();
  const held = Promise.withResolvers<void>();
  cluster.held = held.promise;
  const own = new AbortController();
  const first = cluster.check.authorize(created('2026-01-01T13:00:00Z'), own.signal);
  const second = cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal);
  own.abort(new Error('stopped'));
  await assert.rejects(first, /stopped/);
  held.resolve();
  assert.deepEqual(await second, { username: 'ann' });
  assert.equal(cluster.reviews.length, 1);
});

test('another author in the same namespace is another question', async () => {
  const cluster = new Cluster();
  await cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal);
  await cluster.check.authorize(created('2026-01-01T13:00:00Z', stamp({ ...ann, groups: [] })), signal);
  assert.equal(cluster.reviews.length, 2);
});

test('an At that may be older than the policy or its binding is refused, whatever its annotation says', async () => {
  const cluster = new Cluster();
  const refusal = 'it is older than the policy that records authors: delete it and create it again';
  assert.deepEqual(await cluster.check.authorize(created('2026-01-01T12:00:09Z'), signal), { refusal });
  assert.deepEqual(cluster.reviews, []);
});

for (const [what, lack] of Object.entries({
  'no policy': (cluster: Cluster) => {
    cluster.policies = [];
  },
  'no binding': (cluster: Cluster) => {
    cluster.bindings = [];
  },
  'a binding of another policy': (cluster: Cluster) => {
    cluster.policies = [{ metadata: { name: 'other', creationTimestamp: noon } }];
  },
})) {
  test(`with ${what} no At runs`, async () => {
    const cluster = new Cluster();
    lack(cluster);
    const refusal = 'no admission policy records the authors of Ats: apply config/author-check';
    assert.deepEqual(await cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal), { refusal });
  });
}

for (const [what, annotations] of Object.entries({
  'no annotation': {},
  'an annotation that is no JSON': { 'cnat.programming-kubernetes.info/author': '{' },
  'an annotation of another form': stamp({ username: 'ann' }),
  'an annotation with a group that is no text': stamp({ ...ann, groups: [1] }),
  'an annotation without a name': stamp({ ...ann, username: '' }),
})) {
  test(`an At with ${what} has no author`, async () => {
    const cluster = new Cluster();
    const at = created('2026-01-01T13:00:00Z', annotations);
    assert.deepEqual(await cluster.check.authorize(at, signal), { refusal: 'its author is not recorded' });
  });
}

test('an error of the review is no answer, and is not remembered', async () => {
  const cluster = new Cluster();
  cluster.error = new Error('timeout');
  const ask = () => cluster.check.authorize(created('2026-01-01T13:00:00Z'), signal);
  await assert.rejects(ask, /timeout/);
  cluster.error = undefined;
  assert.deepEqual(await ask(), { username: 'ann' });
});

/** Of an API server that is ready, with this one kind in its newest group. */
function discoveryOf(name: string): Client['getRaw'] {
  const groups = [{ name: 'admissionregistration.k8s.io', versions: [{ version: 'v1' }] }];
  const answers: Readonly<Record<string, unknown>> = {
    '/readyz': 'ok',
    '/apis': { kind: 'APIGroupList', groups },
    '/apis/admissionregistration.k8s.io/v1': {
      kind: 'APIResourceList',
      resources: [{ name, kind: 'K', namespaced: false, verbs: ['list'] }],
    },
  };
  return (async (path: string) => answers[path]) as unknown as Client['getRaw'];
}

test('an API server without the kind of policy is refused with one sentence', async () => {
  const serving = (name: string) =>
    new AuthorCheck({ getRaw: discoveryOf(name) } as unknown as Client, new FakeClock());
  await serving('mutatingadmissionpolicies').assertServed(signal);
  await assert.rejects(
    serving('validatingadmissionpolicies').assertServed(signal),
    /which --author-check needs: leave/,
  );
});

test('an API server is asked again while only a proxy answers, or none, until the start is over', async () => {
  const clock = new FakeClock();
  const errors: Error[] = [new Error('ECONNREFUSED'), new ApiError('404 page not found', 404, {})];
  const discovery = discoveryOf('mutatingadmissionpolicies');
  const getRaw: Client['getRaw'] = (...args) => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return discovery(...args);
  };
  const check = new AuthorCheck({ getRaw } as unknown as Client, clock);
  const served = check.assertServed(signal);
  for (let question = 1; question <= 2; question++) {
    await settle();
    await clock.advance(1000);
  }
  await served;
  const stop = new AbortController();
  errors.push(new Error('ECONNREFUSED'));
  const stopped = check.assertServed(stop.signal);
  await settle();
  stop.abort(new Error('stopped'));
  await assert.rejects(stopped, /stopped/);
});
