/** Ats that wait for their turn to be created, where a quota refuses all of a namespace: on a real API server. */
import assert from 'node:assert/strict';
import { before, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { namespaces, resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { objection } from './pod-admission.ts';
import { aroundPodCreates } from './pod-creates.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';
import { startWebhook, webhookConfigurations } from './webhook.ts';

before(() => applyCrds());

/** Enough that one of them asks for all. */
const refused = 20;
const wanted = ['at-17', 'at-18', 'at-19'];

/** Resolves with the names of so many Ats once all say that their Pods are refused. */
async function createRefused(rig: AtRig, count: number, spec: Partial<AtSpec> = {}): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `at-${index}`);
  await Promise.all(names.map((name) => rig.createAt(spec, name)));
  const isRefused = ({ status }: { status?: { reason?: string } }) => status?.reason === 'PodRejected';
  await Promise.all(names.map((name) => rig.atWhen('refused', isRefused, name)));
  return names;
}

/** A create of a Pod: how many were under way then, and after how many that were admitted. */
interface Noted {
  readonly name: string;
  readonly underWay: number;
  readonly admitted: number;
}

/** For `onConnect` of an operator. */
function noteCreates(noted: Noted[]) {
  let [underWay, admitted] = [0, 0];
  return aroundPodCreates(async (send, name) => {
    underWay += 1;
    noted.push({ name, underWay, admitted });
    try {
      const made = await send();
      admitted += 1;
      return made;
    } finally {
      underWay -= 1;
    }
  });
}

it('Ats that a quota kept back are created one, two, four at a time once there is room', async (t) => {
  const rig = await AtRig.create(t);
  const { client, namespace } = rig;
  const quota = await imposeQuota(rig, { pods: '0' });
  const noted: Noted[] = [];
  await rig.startOperator({ onConnect: noteCreates(noted) });
  const names = await createRefused(rig, 40);
  const before = noted.length;
  await client.delete(resourceQuotas, quota);
  await eventually(async () => (await client.list(pods, { namespace })).items.length === names.length, {
    timeout: 25_000,
    message: 'all of them run',
  });
  const since = noted.slice(before);
  assert.deepEqual(
    since.filter(({ underWay, admitted }) => underWay > admitted + 1),
    [],
  );
  assert.ok(Math.max(...since.map(({ underWay }) => underWay)) >= 4, JSON.stringify(since));
});

/** Creates of Pods that wait until a test lets them through. */
class Turnstile {
  isOpen = true;
  readonly waiting: (() => void)[] = [];

  /** For `onConnect` of an operator. */
  readonly onConnect = aroundPodCreates(async (send) => {
    if (!this.isOpen) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return await send();
  });

  /** Lets so many through, the first ones first. */
  letThrough(count: number): void {
    for (const pass of this.waiting.splice(0, count)) pass();
  }
}

/** Resolves once the quota of the namespace has room for all Pods, or for none. */
async function setRoom(rig: AtRig, hasRoom: boolean): Promise<void> {
  const body = { spec: { hard: { pods: hasRoom ? '500' : '0' } } };
  const key = { namespace: rig.namespace, name: 'quota' };
  await rig.client.patch(resourceQuotas, key, { type: 'merge', body });
  await eventually(async () => ((await objection(rig)) === '') === hasRoom, {
    message: hasRoom ? 'there is room' : 'there is none',
  });
}

it('a success lets one At more try at once each time, and a refusal halves how many do', async (t) => {
  const rig = await AtRig.create(t);
  const { options, advanceAtRest, advanceUntil, stopClock, startClock } = await timeTravel(t);
  await imposeQuota(rig, { pods: '0' });
  const turnstile = new Turnstile();
  await rig.startOperator({ ...options, onConnect: turnstile.onConnect });
  await createRefused(rig, 60);
  // From here on no turn comes because an interval is over, but for the first one.
  stopClock();
  turnstile.isOpen = false;
  const tries = async (count: number, after: string) => {
    const { waiting } = turnstile;
    await eventually(() => waiting.length >= count, { message: `${count} try at once after ${after}` });
    await advanceAtRest(0);
    assert.equal(waiting.length, count, after);
  };
  try {
    await setRoom(rig, true);
    const message = 'one of them tries again';
    await advanceUntil(() => turnstile.waiting.length > 0, { limitMs: 11_000, stepMs: 500, message });
    await tries(1, 'refusals alone');
    for (const [passed, count] of [
      [1, 1],
      [1, 2],
      [2, 4],
      [4, 8],
    ] as const) {
      turnstile.letThrough(passed);
      await tries(count, `${passed} successes`);
    }
    await setRoom(rig, false);
    turnstile.letThrough(1);
    await tries(7, 'one refusal');
    // One more for each of these, which makes as many more as four: half of those before.
    await setRoom(rig, true);
    turnstile.letThrough(7);
    await tries(4 + 7, 'one refusal and seven successes');
  } finally {
    turnstile.isOpen = true;
    turnstile.letThrough(turnstile.waiting.length);
    startClock();
  }
});

/** A class that each API server has. */
const priorityClassName = 'system-cluster-critical';

/** By the beginning of the names of some Ats: why their Pods are refused. */
const causes: Readonly<
  Record<
    string,
    { readonly spec?: object; readonly cpu?: string; readonly memory?: string; readonly says: RegExp }
  >
> = {
  cpu: { cpu: '100', says: /exceeded quota: quota, requested: requests.cpu=/ },
  memory: { memory: '100Gi', says: /exceeded quota: quota, requested: requests.memory=/ },
  critical: { spec: { priorityClassName }, says: /exceeded quota: critical, requested: requests.memory=/ },
  security: { spec: { hostNetwork: true }, says: /violates PodSecurity "baseline/ },
  webhook: { says: /webhook "test.webhook.example.com" denied the request/ },
};
/** More than it takes to presume that another At of the namespace is refused for the same cause. */
const ofEach = 10;

/** A namespace that has all of these causes. Resolves with what removes the webhook. */
async function refuseForAllCauses(t: TestContext, rig: AtRig): Promise<() => Promise<void>> {
  const { client, namespace } = rig;
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await client.patch(namespaces, { name: namespace }, { type: 'merge', body: { metadata: { labels } } });
  // Not of Pods, so that there is room for those of the others.
  await imposeQuota(rig, { 'requests.cpu': '1', 'requests.memory': '1Gi' });
  await refuseCritical(rig);
  const denied = { allowed: false, status: { code: 403, message: 'not now' } };
  const webhook = await startWebhook(t, client, namespace, async () => denied, 'pods');
  const conditions = [{ name: 'name', expression: "object.metadata.name.startsWith('webhook')" }];
  const operations = [{ op: 'add', path: '/webhooks/0/matchConditions', value: conditions }] as const;
  await client.patch(webhookConfigurations, { name: namespace }, { type: 'json', operations });
  return () => webhook.remove();
}

/** By another quota than the rest of the namespace has, for a resource of which that one speaks, too. */
async function refuseCritical(rig: AtRig): Promise<void> {
  const scope = { scopeName: 'PriorityClass', operator: 'In', values: [priorityClassName] };
  const spec = { hard: { 'requests.memory': '0' }, scopeSelector: { matchExpressions: [scope] } };
  const { client, namespace } = rig;
  await client.create(resourceQuotas, { metadata: { namespace, name: 'critical' }, spec });
  const containers = [{ name: 'a', image: 'a', resources: { requests: { cpu: '10m', memory: '1Mi' } } }];
  const isRefused = async () =>
    (await objection(rig, { priorityClassName, containers })).includes('exceeded quota: critical');
  await eventually(isRefused, { message: 'critical Pods are refused by the quota of theirs' });
}

it('Ats of a namespace that refuses them for five causes are tried for each as if there were no other', async (t) => {
  const rig = await AtRig.create(t);
  const { options, advanceAtRest, advanceUntil } = await timeTravel(t);
  const { client, namespace } = rig;
  const removeWebhook = await refuseForAllCauses(t, rig);
  const noted: Noted[] = [];
  await rig.startOperator({ ...options, onConnect: noteCreates(noted) });
  const kinds = Object.keys(causes);
  for (const kind of kinds) {
    const { spec, cpu = '10m', memory = '1Mi' } = causes[kind] ?? {};
    const template = { spec: { ...spec, containers: [{ resources: { requests: { cpu, memory } } }] } };
    const names = Array.from({ length: ofEach }, (_, index) => `${kind}-${index}`);
    await Promise.all(names.map((name) => rig.createAt({ command: 'true', template }, name)));
  }
  const kindOf = (name: string) => name.split('-')[0] ?? '';
  const found = async () => (await client.list(ats, { namespace })).items;
  const areTold = async () =>
    (await found()).every(({ metadata: { name }, status }) =>
      causes[kindOf(name)]?.says.test(status?.message ?? ''),
    );
  await advanceUntil(areTold, { limitMs: 300_000, stepMs: 1000, message: 'each says its own cause' });
  const pass = async (seconds: number) => {
    for (let step = 0; step < seconds; step += 1) await advanceAtRest(1000);
  };
  // Until each probe comes every 10 s.
  await pass(60);
  const before = noted.length;
  await pass(60);
  const tries = noted.slice(before).map(({ name }) => kindOf(name));
  for (const kind of kinds) {
    const count = tries.filter((one) => one === kind).length;
    assert.ok(count >= 5 && count <= 8, `${count} tries of ${kind} in a minute`);
  }
  await removeWebhook();
  const run = async () =>
    (await found()).filter(({ status }) => status?.phase === 'RUNNING').map(({ metadata }) => metadata.name);
  await advanceUntil(async () => (await run()).length >= ofEach, {
    ...{ limitMs: 15_000, stepMs: 500, message: 'those that the webhook denied run' },
  });
  assert.deepEqual([...new Set((await run()).map(kindOf))], ['webhook']);
});

it('Ats that a quota refuses have a try each within five minutes', async (t) => {
  const rig = await AtRig.create(t);
  const { options, advanceAtRest } = await timeTravel(t);
  await imposeQuota(rig, { pods: '0' });
  const noted: Noted[] = [];
  await rig.startOperator({ ...options, onConnect: noteCreates(noted) });
  // More than have a turn in that time where turns are 10 s apart, as they are where few wait.
  const names = await createRefused(rig, 50);
  const before = noted.length;
  const end = options.clock.monotonic() + 300_000;
  while (options.clock.monotonic() < end) await advanceAtRest(1000);
  const tried = new Set(noted.slice(before).map(({ name }) => name));
  t.diagnostic(`${noted.length - before} creates`);
  assert.deepEqual(
    names.filter((name) => !tried.has(`${name}-pod`)),
    [],
  );
});

it('Ats that a quota holds are missed as soon as their starting deadline has passed', async (t) => {
  const rig = await AtRig.create(t);
  const { options, advance, advanceAtRest, advanceUntil, stopClock, startClock } = await timeTravel(t);
  const { client, namespace } = rig;
  await imposeQuota(rig, { pods: '0' });
  await rig.startOperator(options);
  const due = Date.now();
  const spec = { schedule: new Date(due).toISOString(), startingDeadlineSeconds: 600 };
  const names = await createRefused(rig, refused, spec);
  const missed = async () => {
    const { items } = await client.list(ats, { namespace });
    return items.filter(({ status }) => status?.outcome === 'Missed');
  };
  // Some of them would wait for a minute for their turn.
  await advanceAtRest(due + 570_000 - options.clock.now());
  await advanceAtRest(0);
  stopClock();
  try {
    assert.deepEqual(await missed(), []);
    await advance(due + 600_001 - options.clock.now());
    await advanceUntil(async () => (await missed()).length === names.length, {
      ...{ limitMs: 2000, message: 'all of them are missed' },
    });
  } finally {
    startClock();
  }
  for (const { status } of await missed()) {
    assert.deepEqual([status?.phase, status?.reason], ['DONE', 'MissedDeadline']);
    const sentence =
      /^not started: it was .+ late, and startingDeadlineSeconds is 600: .*exceeded quota: quota,/;
    assert.match(status?.message ?? '', sentence);
  }
  assert.deepEqual((await client.list(pods, { namespace })).items, []);
});

for (const [what, edit] of [
  ['rescheduled', { schedule: new Date(Date.now() + 86_400_000).toISOString() }],
  ['suspended', { suspend: true }],
  ['canceled', { cancel: true }],
] as const) {
  it(`Ats that are ${what} while a quota refuses them hold up none of the others`, async (t) => {
    const rig = await AtRig.create(t);
    const { client, namespace } = rig;
    const quota = await imposeQuota(rig, { pods: '0' });
    await rig.startOperator();
    const names = await createRefused(rig, refused);
    const others = names.filter((name) => !wanted.includes(name));
    const body = { spec: edit };
    await Promise.all(others.map((name) => client.patch(ats, { namespace, name }, { type: 'merge', body })));
    const isSeen = ({ status }: { status?: { observedGeneration?: number } }) =>
      status?.observedGeneration === 2;
    await Promise.all(others.map((name) => rig.atWhen('its edit is seen', isSeen, name)));
    await client.delete(resourceQuotas, quota);
    const made = async () => {
      const { items } = await client.list(pods, { namespace });
      return items.map(({ metadata }) => metadata.name.replace(/-pod$/, '')).sort();
    };
    await eventually(async () => (await made()).length === wanted.length, {
      timeout: 25_000,
      message: 'the others run',
    });
    assert.deepEqual(await made(), wanted);
  });
}
