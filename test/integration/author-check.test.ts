/**
 * config/author-check: which author the API server records on an At, and what the operator, with the rights that the
 * component gives it, finds out about this author.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { spawnOperator } from '../../hack/operator-process.ts';
import type { At } from '../../src/api/at.generated.ts';
import { AuthorCheck, reviews } from '../../src/at/act/author-check.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { namespaces, serviceAccounts } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { type Asked, failure, HostileProxy } from './hostile-proxy.ts';
import { noMutatingPolicies } from './mutating-policies.ts';
import { objection } from './pod-admission.ts';
import { at, namespace } from './policy-objects.ts';
import { operator, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { connectToTestCluster, eventually, newConnection } from './support.ts';
import { startTime, stopTime, timeTravel } from './time-travel.ts';
import { startMutatingWebhook } from './webhook.ts';

const annotation = 'cnat.programming-kubernetes.info/author';

let world: PolicyWorld;
/** The administrator. */
let client: Client;

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
const create = (user: string, object: object, ...as: readonly string[]) =>
  world.kubectl(['create', '--filename=-', `--as=${user}`, ...as], object);
const due = (name: string) => ({
  ...named(name),
  spec: { schedule: '2020-01-01T00:00:00Z', command: 'echo YAY' },
});

/** Whether the API server records authors by now: it follows a policy a moment after it was stored. */
async function areRecorded(): Promise<boolean> {
  const dryRun = ['create', '--dry-run=server', '--output=json', '--filename=-'];
  const { metadata } = JSON.parse(await world.kubectl(dryRun, at));
  return metadata.annotations?.[annotation] !== undefined;
}

const binding = 'mutatingadmissionpolicybinding/team-atwatch-author';
const read = async (what: string) => JSON.parse(await world.kubectl(['get', what, '--output=json']));

/** The same binding, younger. */
async function renewBinding(): Promise<void> {
  const { apiVersion, kind, metadata, spec } = await read(binding);
  await world.kubectl(['delete', binding]);
  // Then the other policy refuses an At for the author that it lacks.
  const areLacking = () =>
    areRecorded().then(
      (are) => !are,
      () => true,
    );
  await eventually(areLacking, { message: 'no author is recorded' });
  const { name, labels } = metadata;
  await world.kubectl(['create', '--filename=-'], { apiVersion, kind, metadata: { name, labels }, spec });
  await eventually(areRecorded, { message: 'authors are recorded again' });
}

/** A namespace of its own for Ats of the administrator. @param kubeConfig of its operators. */
async function rigIn(t: TestContext, name: string, kubeConfig?: KubeConfig): Promise<AtRig> {
  await client.create(namespaces, { metadata: { name } });
  const rig = new AtRig(client, kubeConfig ?? world.kubeConfigOf(operator), name);
  t.after(() => rig.stopOperators());
  await eventually(() => client.get(serviceAccounts, { namespace: name, name: 'default' }), {
    message: 'the namespace has its ServiceAccount',
  });
  return rig;
}

/** Who may write Ats, and, `eve` aside, create Pods. */
async function createUsers(): Promise<void> {
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
}

suite('the author of an At', { skip: noMutatingPolicies }, () => {
  before(async () => {
    world = await startPolicyWorld(['author-check']);
    client = newConnection({ kubeConfig: loadKubeConfig({ env: { KUBECONFIG: world.kubeconfig } }) }).client;
    await createUsers();
    await eventually(areRecorded, { message: 'authors are recorded' });
    await create('ann', due('older'));
    await renewBinding();
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

  test('an At runs once it is ten seconds younger than the policy and its binding, and no other does', async (t) => {
    const rig = new AtRig(world.clientOf(operator), world.kubeConfigOf(operator), namespace);
    t.after(() => rig.stopOperators());
    await rig.startOperator({ checksAuthors: true });
    const isDecided = ({ status }: At) => status?.phase === 'RUNNING' || status?.reason === 'NotAuthorized';
    const { status } = await rig.atWhen('decided', isDecided, 'older');
    assert.equal(status?.reason, 'NotAuthorized');
    assert.match(status?.message ?? '', /it is older than the policy that records authors: delete it and/);
    const since = Date.parse((await read(binding)).metadata.creationTimestamp);
    const tried: At[] = [];
    const runs = async () => {
      const name = `young-${tried.length}`;
      await create('bob', due(name));
      const young = await rig.atWhen('decided', isDecided, name);
      tried.push(young);
      return young.status?.phase === 'RUNNING';
    };
    await eventually(runs, { interval: 1000, message: 'one is young enough' });
    for (const { metadata, status } of tried) {
      const youngerMs = Date.parse(metadata.creationTimestamp ?? '') - since;
      assert.equal(status?.phase === 'RUNNING', youngerMs >= 10_000, `${youngerMs} ms: ${status?.message}`);
    }
    assert.ok(await rig.isPodGone('older-pod'));
  });

  test('an At runs for an author who may create Pods, and waits for one who may no more', async (t) => {
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
    const { spec, ...again } = due('again');
    await create('bob', { ...again, spec: { ...spec, disruptionPolicy: 'Retry' } });
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

  test('the stamp has all that is known of the author, and the question about the right has it too', async (t) => {
    const rig = await rigIn(t, 'whole');
    const asked: unknown[] = [];
    const onConnect = (own: Client) => {
      const send = own.create.bind(own);
      own.create = (resource, object, options) => {
        if (resource.plural === reviews.plural && 'spec' in object) asked.push(object.spec);
        return send(resource, object, options);
      };
    };
    await rig.startOperator({ checksAuthors: true, onConnect });
    // The right comes with the group alone.
    const grant = (kind: string, role: string) =>
      world.kubectl(['create', kind, 'dev', '--namespace=whole', `--clusterrole=${role}`, '--group=dev']);
    await world.kubectl(['create', 'clusterrole', 'pod-maker', '--verb=create', '--resource=pods']);
    await grant('rolebinding', 'pod-maker');
    await grant('clusterrolebinding', 'writer');
    const { metadata, ...rest } = due('whole');
    const as = ['--as-uid=u-1', '--as-group=dev', '--as-user-extra=scopes=a', '--as-user-extra=scopes=b'];
    await create('max', { ...rest, metadata: { ...metadata, namespace: rig.namespace } }, ...as);
    const { metadata: stamped } = await rig.inPhase('RUNNING', 'whole');
    const { username, ...known } = JSON.parse(stamped.annotations?.[annotation] ?? '');
    assert.deepEqual([username, known.uid, known.extra], ['max', 'u-1', { scopes: ['a', 'b'] }]);
    assert.ok(known.groups.includes('dev'), known.groups.join());
    const resourceAttributes = { namespace: 'whole', verb: 'create', version: 'v1', resource: 'pods' };
    assert.deepEqual(asked, [{ user: username, ...known, resourceAttributes }]);
  });

  test('one question serves all Ats of an author for a minute, and where it fails they wait', async (t) => {
    const travel = await timeTravel(t, world.kubeConfigOf(operator));
    const { options, proxy, advance, advanceUntil } = travel;
    const rig = await rigIn(t, 'asking', options.kubeConfig);
    const isReview = ({ method, path }: Asked) => method === 'POST' && path.endsWith(`/${reviews.plural}`);
    const questions = () => proxy.asked.filter(isReview).length;
    let isFailing = true;
    proxy.treat = (asked) => (isFailing && isReview(asked) ? failure(500, 'InternalError') : undefined);
    await rig.startOperator({ ...options, checksAuthors: true });
    const names = Array.from({ length: 8 }, (_, index) => `at-${index}`);
    for (const name of names) await rig.createAt({}, name);
    for (const name of names) {
      const isHeld = ({ status }: At) => status?.reason === 'CreateFailed';
      const { status } = await rig.atWhen('held', isHeld, name);
      assert.equal(status?.phase, 'PENDING');
      assert.match(status?.message ?? '', /not known whether its author may create Pods: .*InternalError/);
      const told = async () => (await rig.events(name)).includes('CreateFailed (W)');
      await eventually(told, { message: `the Event of ${name}` });
      assert.ok(await rig.isPodGone(`${name}-pod`));
    }
    stopTime(travel);
    try {
      isFailing = false;
      const before = questions();
      const runs = (name: string) => async () => (await rig.at(name)).status?.phase === 'RUNNING';
      const run = async (name: string) => {
        await advanceUntil(runs(name), { limitMs: 11_000, message: `${name} runs` });
      };
      for (const name of names) await run(name);
      assert.equal(questions() - before, 1, 'one for all of them');
      await rig.createAt({}, 'later');
      await run('later');
      assert.equal(questions() - before, 1, 'within a minute');
      await advance(61_000);
      await rig.createAt({}, 'after-a-minute');
      await run('after-a-minute');
      assert.equal(questions() - before, 2, 'after a minute');
    } finally {
      startTime(travel);
    }
  });

  const path = `/metadata/annotations/${annotation.replace('/', '~1')}`;
  const root = JSON.stringify({ username: 'root', uid: '', groups: ['system:masters'], extra: {} });
  const mutations = {
    rewrites: [{ op: 'replace', path, value: root }],
    drops: [{ op: 'remove', path }],
  };

  for (const [what, operations] of Object.entries(mutations)) {
    test(`a webhook that ${what} the author of an At has its create and its edits refused`, async (t) => {
      const name = `before-webhook-that-${what}`;
      await create('ann', named(name));
      await startMutatingWebhook(t, { client, namespace }, 'ats', () => operations);
      const sentence = /is written by an admission policy only; a webhook changed it/;
      const refusal = (args: readonly string[], object?: object) => world.refusal('ann', args, object);
      await eventually(
        async () => sentence.test(await refusal(['create', '--filename=-'], named(`new-${what}`))),
        { message: 'a create is refused' },
      );
      for (const body of [{ spec: { command: 'echo other' } }, { metadata: { labels: { a: 'b' } } }]) {
        const patch = ['patch', 'at', name, `--namespace=${namespace}`, '--type=merge'];
        assert.match(await refusal([...patch, `--patch=${JSON.stringify(body)}`]), sentence);
      }
      assert.equal(await authorOf(name), 'ann');
    });

    test(`a webhook that ${what} the author on a Pod changes nothing about its run`, async (t) => {
      const rig = await rigIn(t, `pods-${what}`);
      await startMutatingWebhook(t, rig, 'pods', () => operations);
      // It cannot change what a plain Pod has not.
      await eventually(async () => (await objection(rig)) !== '', { message: 'the webhook is in force' });
      const created = await rig.watchPods(t);
      await rig.startOperator({ checksAuthors: true });
      await rig.createAt();
      const { status } = await rig.inPhase('RUNNING');
      const { metadata } = await rig.pod();
      const stamp = metadata.annotations?.[annotation];
      assert.equal(stamp, what === 'drops' ? undefined : root);
      assert.equal(status?.podUID, metadata.uid);
      await rig.exit(0);
      assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
      assert.equal(created.size, 1);
    });
  }

  test('the operator may ask about the author, and learns when the right is gone', async () => {
    await create('ann', named('asked'));
    const authorize = async (name: string) => {
      const check = new AuthorCheck(world.clientOf(operator), systemClock);
      return check.authorize(await get(name), AbortSignal.timeout(10_000));
    };
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

test('an operator that checks authors ends with a sentence where no API server can record them', async (t) => {
  const proxy = await HostileProxy.start(t);
  const path = '/apis/admissionregistration.k8s.io/v1';
  const { resources, ...list } = (await connectToTestCluster().client.getRaw(path)) as {
    readonly resources: readonly { readonly name: string }[];
  };
  // As an API server before 1.36 answers.
  const older = resources.filter(({ name }) => !name.startsWith('mutatingadmissionpolic'));
  const body = JSON.stringify({ ...list, resources: older });
  const answer = { code: 200, body, headers: { 'content-type': 'application/json' } };
  proxy.treat = (asked) => (asked.path === path ? answer : undefined);
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-author-check-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
  const child = spawnOperator(kubeconfig, { flags: ['--author-check', '--leader-elect=false'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'close', { signal: AbortSignal.timeout(60_000) });
  const [[code], output] = await Promise.all([ended, child.stderr.toArray(), child.stdout.resume()]);
  assert.match(
    Buffer.concat(output).toString('utf8'),
    /this API server does not serve MutatingAdmissionPolicy in admissionregistration\.k8s\.io\/v1 \(Kubernetes 1\.36\), which --author-check needs: leave the flag out/,
  );
  assert.equal(code, 1);
  assert.deepEqual(
    proxy.asked.filter(({ method }) => method !== 'GET'),
    [],
  );
});
