/**
 * config/author-check: which author the API server records on an At, and what the operator, with the rights that the
 * component gives it, finds out about this author.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { At } from '../../src/api/at.generated.ts';
import { AuthorCheck } from '../../src/at/act/author-check.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { AtRig } from './at-rig.ts';
import { noMutatingPolicies } from './mutating-policies.ts';
import { at, namespace } from './policy-objects.ts';
import { operator, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

const annotation = 'cnat.programming-kubernetes.info/author';

let world: PolicyWorld;

const named = (name: string, annotations: object = {}) => ({
  ...at,
  metadata: { ...at.metadata, name, annotations },
});
const get = async (name: string): Promise<At> =>
  JSON.parse(await world.kubectl(['get', 'at', name, `--namespace=${namespace}`, '--output=json']));
const authorOf = async (name: string): Promise<string> => {
  const { metadata } = await get(name);
  return JSON.parse(metadata.annotations?.[annotation] ?? '').username;
};
const edit = (user: string, name: string, body: object) => {
  const patch = ['patch', 'at', name, `--namespace=${namespace}`, '--type=merge'];
  return world.kubectl([...patch, `--patch=${JSON.stringify(body)}`, `--as=${user}`]);
};
const create = (user: string, object: object) =>
  world.kubectl(['create', '--filename=-', `--as=${user}`], object);

suite('the author of an At', { skip: noMutatingPolicies }, () => {
  before(async () => {
    world = await startPolicyWorld(['author-check']);
    await world.kubectl([
      'create',
      'role',
      'author',
      `--namespace=${namespace}`,
      '--verb=create',
      '--resource=pods',
    ]);
    const edits = ['--verb=create,get,patch', '--resource=ats.cnat.programming-kubernetes.info'];
    await world.kubectl(['create', 'clusterrole', 'writer', ...edits]);
    for (const user of ['ann', 'bob', 'eve', 'eve-before']) {
      await world.kubectl([
        'create',
        'clusterrolebinding',
        `writer-${user}`,
        '--clusterrole=writer',
        `--user=${user}`,
      ]);
    }
    for (const user of ['ann', 'bob', 'eve-before']) {
      const binding = ['create', 'rolebinding', `author-${user}`, `--namespace=${namespace}`];
      await world.kubectl([...binding, '--role=author', `--user=${user}`]);
    }
    // The policy is in force a moment after it was stored.
    await eventually(
      async () => {
        const dryRun = ['create', '--dry-run=server', '--output=json', '--filename=-'];
        const { metadata } = JSON.parse(await world.kubectl(dryRun, at));
        return metadata.annotations?.[annotation] !== undefined;
      },
      { message: 'authors are recorded' },
    );
  });
  after(() => world?.stop());

  test('the author is who created the At, whatever its annotation said', async () => {
    await create('ann', named('forged', { [annotation]: '{"username":"root"}' }));
    assert.equal(await authorOf('forged'), 'ann');
    const { metadata } = await get('forged');
    assert.deepEqual(JSON.parse(metadata.annotations?.[annotation] ?? ''), {
      username: 'ann',
      uid: '',
      groups: ['system:authenticated'],
      extra: {},
    });
  });

  test('no write of metadata changes the author, and none takes it away', async () => {
    await create('ann', named('kept'));
    for (const value of ['{"username":"eve"}', '', null]) {
      await edit('eve', 'kept', { metadata: { annotations: { [annotation]: value } } });
      assert.equal(await authorOf('kept'), 'ann');
    }
  });

  test('a change that needs the right on Pods makes another author, one that only reduces does not', async () => {
    await create('ann', named('changed'));
    await edit('bob', 'changed', { spec: { suspend: true } });
    assert.equal(await authorOf('changed'), 'ann');
    await edit('bob', 'changed', { spec: { command: 'echo other' } });
    assert.equal(await authorOf('changed'), 'bob');
    await edit('eve', 'changed', { spec: { cancel: true } });
    assert.equal(await authorOf('changed'), 'bob');
  });

  test('names with quotes, backslashes and other alphabets are kept', async () => {
    const user = 'o\'neil "x" \\ é 日本';
    await world.kubectl([
      'create',
      'clusterrolebinding',
      'strange',
      '--clusterrole=cluster-admin',
      `--user=${user}`,
    ]);
    await create(user, named('strange'));
    assert.equal(await authorOf('strange'), user);
  });

  test('the policy and its binding have the same idea of what needs the right as the policy on requesters', async () => {
    const variables = async (path: string) => {
      const documents = parseAllDocuments(await readFile(path, 'utf8')).map((document) => document.toJS());
      const all = documents.flatMap(({ spec }) => (spec.variables ? [spec.variables] : []));
      assert.deepEqual(
        all,
        Array(all.length).fill(all[0]),
        `the policies of ${path} read the same variables`,
      );
      return all.map((list) =>
        list.find(({ name }: { readonly name: string }) => name === 'reduces').expression.trim(),
      );
    };
    const [requester] = await variables('config/policy/requester.yaml');
    assert.deepEqual(await variables('config/author-check/author.yaml'), [requester, requester]);
  });

  test('an At runs for an author who may create Pods, and waits for one who may no more', async (t) => {
    await eventually(
      async () => {
        const check = new AuthorCheck(world.clientOf(operator), systemClock);
        await world.kubectl(['delete', 'at', 'young', `--namespace=${namespace}`, '--ignore-not-found']);
        await create('bob', named('young'));
        return 'username' in (await check.authorize(await get('young'), AbortSignal.timeout(10_000)));
      },
      { interval: 1000, message: 'an At is younger than the policy' },
    );
    const due = (name: string) => ({
      ...named(name),
      spec: { schedule: '2020-01-01T00:00:00Z', command: 'echo YAY' },
    });
    await create('bob', due('may'));
    await create('eve-before', due('may-not'));
    await world.kubectl(['delete', 'rolebinding', 'author-eve-before', `--namespace=${namespace}`]);
    const rig = new AtRig(world.clientOf(operator), world.kubeConfigOf(operator), namespace);
    t.after(() => rig.stopOperators());
    await rig.startOperator({ checksAuthors: true });
    const may = await eventually(() => rig.pod('may-pod'), { message: 'the Pod of the author who may' });
    assert.equal(may.metadata.annotations?.[annotation], 'bob');
    const eventsOf = (at: string) =>
      world.kubectl([
        'get',
        'events',
        `--namespace=${namespace}`,
        `--field-selector=involvedObject.name=${at}`,
      ]);
    await eventually(async () => /Launched .*created Pod may-pod for bob/.test(await eventsOf('may')), {
      message: 'the Event of the launch names its author',
    });
    await rig.atWhen('not authorized', ({ status }) => status?.reason === 'NotAuthorized', 'may-not');
    const { status } = await rig.at('may-not');
    const launched = status?.conditions?.find(({ type }) => type === 'Launched');
    assert.equal(launched?.status, 'False');
    assert.match(
      launched?.message ?? '',
      /its author "eve-before" may not create Pods in the namespace "default"/,
    );
    assert.ok(await rig.isPodGone('may-not-pod'));
    await eventually(async () => /Warning +NotAuthorized /.test(await eventsOf('may-not')), {
      message: 'the Event of the author who may not',
    });
  });

  test('no further Pod is made for an author whose right has gone since, until it is back', async (t) => {
    const rig = new AtRig(world.clientOf(operator), world.kubeConfigOf(operator), namespace);
    t.after(() => rig.stopOperators());
    const spec = { schedule: '2020-01-01T00:00:00Z', command: 'echo YAY', disruptionPolicy: 'Retry' };
    await create('bob', { ...named('again'), spec });
    await rig.startOperator({ checksAuthors: true });
    await rig.atWhen('running', ({ status }) => status?.phase === 'RUNNING', 'again');
    // What it has been told of the author may be right for a minute; the next process asks.
    await rig.stopOperators();
    await world.kubectl(['delete', 'rolebinding', 'author-bob', `--namespace=${namespace}`]);
    await world.kubectl(['delete', 'pod', 'again-pod', `--namespace=${namespace}`, '--now']);
    await rig.startOperator({ checksAuthors: true });
    const held = await rig.atWhen('held', ({ status }) => status?.reason === 'NotAuthorized', 'again');
    assert.deepEqual([held.status?.phase, held.status?.attempts], ['RUNNING', 1]);
    assert.match(held.status?.message ?? '', /its author "bob" may not create Pods/);
    assert.ok(await rig.isPodGone('again-pod-2'));
    await rig.stopOperators();
    await world.kubectl([
      ...['create', 'rolebinding', 'author-bob', `--namespace=${namespace}`],
      ...['--role=author', '--user=bob'],
    ]);
    await rig.startOperator({ checksAuthors: true });
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2, 'again');
  });

  test('the operator may ask about the author, and learns when the right is gone', async () => {
    await create('ann', named('asked'));
    const authorize = async (name: string) => {
      const check = new AuthorCheck(world.clientOf(operator), systemClock);
      return check.authorize(await get(name), AbortSignal.timeout(10_000));
    };
    const isOlder = {
      refusal: 'it is older than the policy that records authors: delete it and create it again',
    };
    const first = await authorize('asked');
    if ('refusal' in first) {
      // Created within ten seconds of the policy.
      assert.deepEqual(first, isOlder);
      await eventually(
        async () => {
          await world.kubectl(['delete', 'at', 'asked', `--namespace=${namespace}`]);
          await create('ann', named('asked'));
          return 'username' in (await authorize('asked'));
        },
        { interval: 1000, message: 'an At is younger than the policy' },
      );
    }
    assert.deepEqual(await authorize('asked'), { username: 'ann' });
    await world.kubectl(['delete', 'rolebinding', 'author-ann', `--namespace=${namespace}`]);
    await eventually(
      async () => {
        const answer = await authorize('asked');
        return 'refusal' in answer && answer.refusal;
      },
      { message: 'the right is gone' },
    ).then((refusal) =>
      assert.equal(refusal, 'its author "ann" may not create Pods in the namespace "default"'),
    );
    await world.kubectl(['delete', 'mutatingadmissionpolicybinding', '--all']);
    const unrecorded = {
      refusal: 'no admission policy records the authors of Ats: apply config/author-check',
    };
    assert.deepEqual(await authorize('asked'), unrecorded);
  });
});
