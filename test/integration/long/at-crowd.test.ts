/**
 * Ats among many, with the bundle on an API server whose audit log is the judge: one that is due with a crowd of
 * another namespace, a thousand that a quota keeps back, and good ones beside a thousand that cannot run. What counts
 * is the order and the number of requests, which a slow machine does not change.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { type OperatorProcess, startOperator } from '../../../hack/operator-process.ts';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { pods } from '../../../src/kubernetes/objects.ts';
import { events } from '../../../src/runtime/events/event.ts';
import { type AuditedRequest, requestsOf } from '../../bench/at-audit.ts';
import { BenchApiServer } from '../../bench/bench-api-server.ts';
import { percentile } from '../../bench/percentile.ts';
import { customResourceDefinitions, namespaces, resourceQuotas } from '../../fixtures/cluster-resources.ts';
import { inParallel } from '../../fixtures/in-parallel.ts';
import { seconds } from '../at-rig.ts';
import { eventually } from '../support.ts';

const timeout = 240_000;
const concurrency = 24;

let server: BenchApiServer;
let directory: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atwatch-crowd-'));
  server = await BenchApiServer.start();
  await eventually(() => server.client.list(ats), { message: 'Ats are served' });
});
after(async () => {
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

async function createAt(namespace: string, name: string, spec: object = {}): Promise<void> {
  const given = { schedule: '2019-04-12T10:12:00Z', command: 'true', ...spec };
  await server.client.create(ats, { metadata: { namespace, name }, spec: given });
}

/** What an operator says of a new At whose time has not come. */
async function accept(namespace: string, name: string, due: number): Promise<void> {
  const said = { status: 'True' as const, reason: 'Armed', message: '', lastTransitionTime: seconds(due) };
  const scheduledTime = new Date(due).toISOString();
  const status = { observedGeneration: 1, scheduledTime, conditions: [{ type: 'Accepted', ...said }] };
  await server.client.patchStatus(ats, { namespace, name }, { type: 'merge', body: { status } });
}

/** By a quota. */
async function forbidPods(namespace: string): Promise<void> {
  const metadata = { namespace, name: 'none' };
  const hard = { pods: '0' };
  await server.client.create(resourceQuotas, { metadata, spec: { hard } });
  // There is no controller that would do it.
  const status = { hard, used: hard };
  await server.client.patchStatus(resourceQuotas, metadata, { type: 'merge', body: { status } });
}

async function podCount(namespace: string): Promise<number> {
  return (await server.client.list(pods, { namespace, metadataOnly: true })).items.length;
}

/** The operator for these namespaces until the end of the test. It begins to work before it says that it is ready. */
function operating(t: TestContext, ...namespaces: string[]): Promise<OperatorProcess> {
  const flags = [`--namespaces=${namespaces}`, '--metrics-bind-address=127.0.0.1:0'];
  const starting = startOperator(server.plane.kubeconfig, logOf(namespaces), { flags });
  // It would send a thousand Events first.
  t.after(async () => {
    const operator = await starting;
    operator.process.kill('SIGKILL');
    await operator.ended;
  });
  return starting;
}

function logOf(namespaces: readonly string[]): string {
  return join(directory, `${namespaces}.log`);
}

/** How often an operator of these namespaces has reconciled an At so far. */
async function reconcileCount(namespaces: readonly string[]): Promise<number> {
  const lines = (await readFile(logOf(namespaces), 'utf8')).split('\n');
  const { address }: { address: string } = JSON.parse(
    lines.find((line) => line.includes('"serving metrics"')) ?? '{}',
  );
  const metrics = await (await fetch(`http://${address}/metrics`)).text();
  const counts = [...metrics.matchAll(/^controller_runtime_reconcile_total\{controller="at".*\} (\d+)$/gm)];
  return counts.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** What the operator asked for, Events aside, in the order of receipt. */
async function requests(agent = /^atwatch\//): Promise<AuditedRequest[]> {
  const all = await requestsOf(server.plane.auditLog ?? '', agent);
  return all
    .filter(({ what }) => !what.endsWith(' events'))
    .sort((one, other) => one.received - other.received);
}

/** Epoch milliseconds at which this At was created, or could first be launched if that is later. */
async function possibleSince(namespace: string, name: string, due = 0): Promise<number> {
  const created = (await requests(/^bench/)).find(
    (one) => one.what === 'create ats' && one.namespace === namespace && one.name === name,
  );
  return Math.max(created?.received ?? Number.NaN, due);
}

describe('an At', () => {
  it('does not wait for the hundreds of another namespace that are due', { timeout }, async (t) => {
    const crowd = 400;
    await server.namespace('crowd');
    await server.namespace('other');
    await inParallel(crowd, concurrency, (index) => createAt('crowd', `at-${index}`));
    await createAt('other', 'from-the-start');
    // As an earlier process has left it: in the middle of what this one finds to do.
    const soon = Date.now() + 2000;
    await createAt('other', 'accepted-before', { schedule: new Date(soon).toISOString() });
    await accept('other', 'accepted-before', soon);
    const starting = operating(t, 'crowd', 'other');
    await eventually(async () => (await podCount('crowd')) > 0, { timeout: 60_000, interval: 20 });
    await createAt('other', 'created-meanwhile');
    const due = Date.now() + 500;
    await createAt('other', 'due-meanwhile', { schedule: new Date(due).toISOString() });
    await starting;
    const isOver = async () => (await podCount('crowd')) === crowd && (await podCount('other')) === 4;
    await eventually(isOver, { timeout: 120_000, interval: 200, message: 'every At has its Pod' });

    // A line of the audit log is written a moment after the answer.
    const creates = await eventually(async () => {
      const found = (await requests()).filter(({ what }) => what === 'create pods');
      return found.length >= crowd + 4 && found;
    });
    assert.equal(creates.length, crowd + 4, 'one create for each');
    const inTurn = async (name: string, earliest?: number) => {
      const since = await possibleSince('other', name, earliest);
      const own = creates.find((one) => one.namespace === 'other' && one.name === `${name}-pod`);
      const others = creates.filter(({ namespace }) => namespace === 'crowd');
      const first = others.filter(({ received }) => received >= since && received < (own?.received ?? 0));
      t.diagnostic(`${name}: ${first.length} of the crowd went first`);
      // Those under way until the operator hears of it, and as many as take turns with it.
      assert.ok(first.length <= crowd / 2, `${first.length} of the crowd went before ${name}`);
      return others.filter(({ received }) => received > (own?.received ?? 0)).length;
    };
    assert.ok((await inTurn('from-the-start')) >= crowd / 2, 'most of the crowd went later');
    await inTurn('created-meanwhile');
    await inTurn('due-meanwhile', due);
    await inTurn('accepted-before', Math.max(soon, creates[0]?.received ?? 0));
  });
});

describe('why due Ats have no Pods', () => {
  it('is written at 200 statuses a second at the most', { timeout }, async (t) => {
    const count = 1000;
    const namespace = await server.namespace('barred');
    await forbidPods(namespace);
    await inParallel(count, concurrency, (index) => createAt(namespace, `at-${index}`));
    await operating(t, namespace);
    const writes = async () =>
      (await requests()).filter((one) => one.what === 'patch ats/status' && one.namespace === namespace);
    const all = await eventually(
      async () => {
        const found = await writes();
        return found.length >= count && found;
      },
      { timeout: 120_000, interval: 500, message: 'each has its status' },
    );
    const seconds = ((all.at(-1)?.received ?? 0) - (all[0]?.received ?? 0)) / 1000;
    t.diagnostic(`${all.length} statuses in ${seconds} s`);
    assert.equal(all.length, count);
    // A few may go at once at the start; and where the first is long on its way, the others only seem faster.
    assert.ok(all.length <= 200 * (seconds + 1), `${all.length} statuses in ${seconds} s`);
  });
});

/** What cannot run, by its message. Only a CRD laxer than ours lets most of it in. */
const mistakes: readonly { readonly reason: string; readonly spec: object }[] = [
  { reason: 'InvalidSchedule', spec: { schedule: 'soon' } },
  { reason: 'InvalidSchedule', spec: { schedule: '2030-02-30T00:00:00Z' } },
  { reason: 'InvalidSchedule', spec: { schedule: 1_900_000_000 } },
  { reason: 'InvalidSchedule', spec: { schedule: { at: ['noon'] } } },
  { reason: 'InvalidSchedule', spec: { schedule: null } },
  { reason: 'InvalidTimeZone', spec: { schedule: '2019-07-01T09:00:00', timeZone: 'Mars/Olympus' } },
  { reason: 'InvalidTimeZone', spec: { schedule: '2019-07-01T09:00:00', timeZone: 7 } },
  { reason: 'InvalidCommand', spec: { command: ['echo', 'YAY'] } },
  { reason: 'InvalidCommand', spec: { command: `echo "it's` } },
  { reason: 'InvalidCommand', spec: { argv: 'echo', command: null } },
  { reason: 'InvalidCommand', spec: { backoffLimit: 'many' } },
  { reason: 'InvalidCommand', spec: { suspend: 'yes' } },
  { reason: 'InvalidCommand', spec: { ttlSecondsAfterFinished: -1 } },
  { reason: 'InvalidTemplate', spec: { template: { spec: { restartPolicy: 'Always' } } } },
  { reason: 'InvalidTemplate', spec: { template: 'none' } },
];
const mistakesOfEach = 56;
/** Refused by the API server each time: by a quota, by the Pod's own fields, by a stranger's Pod of that name. */
const refusedOfEach = 60;

/** The CRD with a schema that takes any spec. */
async function loosenCrd(): Promise<void> {
  const crd = parse(await readFile('crds/ats.yaml', 'utf8'));
  const schema = crd.spec.versions[0].schema.openAPIV3Schema;
  delete schema['x-kubernetes-validations'];
  schema.properties.spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const name = crd.metadata.name;
  const patch = { type: 'apply', body: crd, fieldManager: 'test', force: true } as const;
  await server.client.patch(customResourceDefinitions, { name }, patch);
  const probe = { metadata: { namespace: 'default', name: 'probe' }, spec: { schedule: 7 } as never };
  await eventually(() => server.client.create(ats, probe, { dryRun: true }), {
    timeout: 30_000,
    message: 'the API server takes any spec',
  });
}

/** In these namespaces of theirs; each At is named after the reason that it will be given. */
async function createPoison(poison: string, full: string): Promise<number> {
  const { client } = server;
  await forbidPods(full);
  const rows = [
    ...mistakes.flatMap((mistake) => Array.from({ length: mistakesOfEach }, () => mistake)),
    ...Array.from({ length: refusedOfEach }, () => ({
      reason: 'PodRejected',
      spec: { template: { spec: { containers: [{ ports: 'all' }] } } },
    })),
    ...Array.from({ length: refusedOfEach }, () => ({ reason: 'PodNameConflict', spec: {} })),
  ];
  await inParallel(refusedOfEach, concurrency, (index) => createAt(full, `podrejected-${index}`));
  await inParallel(rows.length, concurrency, async (index) => {
    const { reason, spec } = rows[index] ?? { reason: '', spec: {} };
    const name = `${reason.toLowerCase()}-${index}`;
    if (reason === 'PodNameConflict') {
      const stranger = { namespace: poison, name: `${name}-pod` };
      await client.create(pods, {
        metadata: stranger,
        spec: { containers: [{ name: 'main', image: 'busybox' }] },
      });
    }
    await createAt(poison, name, spec);
  });
  return rows.length + refusedOfEach;
}

/** One that is due a moment after its creation. */
interface GoodAt {
  readonly namespace: string;
  readonly name: string;
  readonly due: number;
}

/** A round of good Ats, one after the other, each of which gets its Pod. */
async function goodRound(what: string, spaces: readonly string[]): Promise<GoodAt[]> {
  const all: GoodAt[] = [];
  for (let index = 0; index < 4; index += 1) {
    for (const namespace of spaces) {
      const at = { namespace, name: `good-${what}-${index}`, due: Date.now() + 700 };
      await createAt(namespace, at.name, { schedule: new Date(at.due).toISOString() });
      all.push(at);
    }
  }
  for (const { namespace, name } of all) {
    const created = () => server.client.get(pods, { namespace, name: `${name}-pod` });
    await eventually(created, { timeout: 60_000, message: `${name} has its Pod` });
  }
  return all;
}

/** Resolves when every At of the namespace, the good ones aside, says what its name promises. */
async function told(namespace: string): Promise<void> {
  const isTold = async () => {
    const { items } = await server.client.list(ats, { namespace });
    const others = items.filter(({ metadata: { name } }) => !name.startsWith('good-'));
    const odd = others.find(
      ({ metadata, status }) => reasonOf(metadata.name) !== status?.reason?.toLowerCase(),
    );
    if (odd === undefined) return others.length > 0;
    throw new Error(`${odd.metadata.name} says ${JSON.stringify(odd.status)}`);
  };
  await eventually(isTold, { timeout: 120_000, interval: 500, message: `all Ats of ${namespace} are told` });
}

/** Of `podrejected-17` and its Pod. */
function reasonOf(name: string): string {
  return name.split('-')[0] ?? '';
}

describe('a good At', () => {
  it('is not late because of a thousand that cannot run', { timeout }, async (t) => {
    const spaces = ['good', 'poison'];
    for (const name of [...spaces, 'full']) await server.namespace(name);
    await loosenCrd();
    const operator = await operating(t, ...spaces, 'full');
    const before = await goodRound('before', spaces);
    const begun = performance.now();
    const [count, meanwhile] = await Promise.all([
      createPoison('poison', 'full'),
      goodRound('meanwhile', spaces),
    ]);
    assert.ok(count >= 1000, `${count} are bad`);
    await told('poison');
    await told('full');
    // Whatever admission lets in is told, also what only another CRD than ours does.
    const isWarned = async () =>
      (await server.client.list(events, { namespace: 'poison' })).items.some(
        ({ type, reason }) => type === 'Warning' && reason === 'InvalidSchedule',
      );
    await eventually(isWarned, { timeout: 60_000, message: 'an Event of a schedule that is none' });
    const afterwards = await goodRound('afterwards', spaces);
    const reconciles = await reconcileCount([...spaces, 'full']);
    operator.process.kill('SIGKILL');
    await operator.ended;
    const seconds = (performance.now() - begun) / 1000;

    const all = await requests();
    const created = await requests(/^bench/);
    const bad = all.filter(({ name }) => name !== '' && !name.startsWith('good-'));
    const waits = (round: readonly GoodAt[]) =>
      round.map(({ namespace, name, due }) => {
        const isIt = (one: AuditedRequest) => one.namespace === namespace && one.name.startsWith(name);
        const since = Math.max(due, created.find(isIt)?.received ?? Number.NaN);
        const launch = all.find((one) => one.what === 'create pods' && isIt(one))?.received ?? Number.NaN;
        const between = bad.filter(({ received }) => received > since && received < launch);
        return { late: launch - since, between: between.length };
      });
    for (const { between } of [...waits(meanwhile), ...waits(afterwards)]) {
      // Those under way, and as many as may go first.
      assert.ok(between <= count / 4, `${between} requests for bad ones went before a good one`);
    }
    const undisturbed = Math.max(...waits(before).map(({ late }) => late));
    const late = percentile(
      waits(afterwards).map((one) => one.late),
      0.5,
    );
    assert.ok(late <= undisturbed + 2000, `${late} ms late, and ${undisturbed} at most without the bad ones`);
    assertLeftAlone(bad, seconds);
    // One for the At, one for what was written of it; and one for each try.
    assert.ok(reconciles <= 2 * count + bad.length, `${reconciles} reconciles, ${bad.length} requests`);
  });

  it('that is due in a namespace that goes away is tried seldom, and little is said of it', {
    timeout,
  }, async (t) => {
    const { client } = server;
    const namespace = await server.namespace('doomed');
    const names = Array.from({ length: 20 }, (_, index) => `at-${index}`);
    // No controller empties the namespace: it stays as it is.
    for (const name of names) await createAt(namespace, name, { suspend: true });
    await operating(t, namespace);
    const all = async (reason: string) => {
      const { items } = await client.list(ats, { namespace });
      return items.every(({ status }) => status?.reason === reason);
    };
    await eventually(() => all('Suspended'), { timeout: 60_000, message: 'all have been seen' });
    await client.delete(namespaces, { name: namespace });
    const linesBefore = (await readFile(logOf([namespace]), 'utf8')).split('\n').length;
    const begun = performance.now();
    for (const name of names) {
      await client.patch(ats, { namespace, name }, { type: 'merge', body: { spec: { suspend: false } } });
    }
    await eventually(() => all('PodRejected'), { timeout: 60_000, message: 'all have been refused' });
    const triesOf = async () =>
      (await requests()).filter((one) => one.what === 'create pods' && one.namespace === namespace);
    // One tries for all that the namespace refuses, each time another one.
    await eventually(async () => new Set((await triesOf()).map(({ name }) => name)).size >= 8, {
      timeout: 60_000,
      message: 'one after the other has been tried',
    });
    const seconds = (performance.now() - begun) / 1000;
    const tries = (await triesOf()).length;
    // Those that fall due at once may all be tried before the first answer.
    assert.ok(tries <= 2 * names.length + 2 * seconds, `${tries} tries in ${seconds} s`);
    const [{ status }] = (await client.list(ats, { namespace })).items as [At];
    assert.match(status?.message ?? '', /terminat/);
    assertLeftAlone(await triesOf(), (performance.now() - begun) / 1000);
    const events = (await requestsOf(server.plane.auditLog ?? '', /^atwatch\//)).filter(
      (one) => one.what === 'create events' && one.namespace === namespace && one.code >= 400,
    );
    assert.ok(events.length <= 3 * names.length, `${events.length} Events that are not accepted`);
    const lines = (await readFile(logOf([namespace]), 'utf8')).split('\n').length - linesBefore;
    assert.ok(lines <= 3 * names.length, `${lines} lines in the log`);
  });
});

/** What was refused is tried again after 250 ms, then twice as long each time, 10 s at most; all else is written once. */
function assertLeftAlone(requests: readonly AuditedRequest[], seconds: number): void {
  for (const [object, all] of Map.groupBy(requests, ({ namespace, name }) => `${namespace}/${name}`)) {
    const creates = all.filter(({ what }) => what === 'create pods').length;
    assert.ok(creates <= 8 + seconds / 10, `${creates} tries of ${object} in ${seconds} s`);
    const patches = all.filter(({ what }) => what === 'patch ats/status').length;
    assert.ok(patches <= 2, `${patches} statuses of ${object}`);
  }
}
