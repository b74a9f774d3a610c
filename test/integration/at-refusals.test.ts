/** When a due At that the API server does not take is tried again, and what is told of it meanwhile. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { pods } from '../../src/kubernetes/objects.ts';
import { condition } from '../fixtures/at.ts';
import { namespaces } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import {
  type Asked,
  failure,
  type HostileProxy,
  lostAnswer,
  noAnswer,
  type Treatment,
} from './hostile-proxy.ts';
import { objection } from './pod-admission.ts';
import { aroundPodCreates } from './pod-creates.ts';
import { admitPodsBy } from './pod-policy.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';
import { installDeadWebhook } from './webhook.ts';

before(() => applyCrds());

const isCreate = ({ method, path, query }: Asked) =>
  method === 'POST' && path.endsWith('/pods') && !query.has('dryRun');

const plainPod = { containers: [{ name: 'a', image: 'a' }] };

/** Resolves once admission says so of a Pod. */
async function isDenied(rig: AtRig, sentence: RegExp): Promise<void> {
  await eventually(async () => sentence.test(await objection(rig)), { message: `Pods meet ${sentence}` });
}

async function enforceRestricted(rig: AtRig): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const body = { metadata: { labels } };
  await rig.client.patch(namespaces, { name: rig.namespace }, { type: 'merge', body });
  await isDenied(rig, /violates PodSecurity/);
}

async function denyByPolicy(t: TestContext, rig: AtRig): Promise<void> {
  const policy = { validations: [{ expression: 'false', message: 'no Pods here' }] };
  await admitPodsBy(t, rig, { verb: 'Validating', policy, binding: { validationActions: ['Deny'] } });
  await isDenied(rig, /no Pods here/);
}

async function denyByDeadWebhook(t: TestContext, rig: AtRig): Promise<void> {
  await installDeadWebhook(t, rig);
  await isDenied(rig, /failed calling webhook/);
}

/** The Pod of a stranger has the name of the first one. */
function takeName({ client, namespace }: AtRig): Promise<unknown> {
  return client.create(pods, { metadata: { namespace, name: 'example-at-pod' }, spec: plainPod });
}

function treatCreates(proxy: HostileProxy, treat: HostileProxy['treat']): void {
  proxy.treat = (asked) => (isCreate(asked) ? treat(asked) : undefined);
}

/** Nothing comes of it: the API server is asked for a dry run instead, and its answer is lost. */
function breakConnection({ query }: Asked): Treatment {
  query.set('dryRun', 'All');
  return lostAnswer;
}

/** For `onConnect` of an operator: the times at which creates of Pods are sent. */
function noteTries(tries: number[], now: () => number) {
  return aroundPodCreates((send) => {
    tries.push(now());
    return send();
  });
}

interface Refusal {
  readonly refuse: (t: TestContext, rig: AtRig, proxy: HostileProxy) => unknown;
  /** Of the At that is due at once. */
  readonly spec?: Parameters<AtRig['createAt']>[0];
  readonly operator?: Parameters<AtRig['startOperator']>[0];
  /** What status says of it. */
  readonly reason: string;
  readonly says: RegExp;
  /** Between two tries; absent where the time limit of a request counts as well. */
  readonly mostSeconds?: number;
}

/** So that Pod Security forbids it. */
const onHostNetwork = { command: 'true', template: { spec: { hostNetwork: true, containers: [{}] } } };

const refusals: Readonly<Record<string, Refusal>> = {
  'a full quota refuses': {
    refuse: (_, rig) => imposeQuota(rig, { pods: '0' }),
    ...{ reason: 'PodRejected', says: /exceeded quota: quota/, mostSeconds: 10 },
  },
  'Pod Security forbids': {
    refuse: (_, rig) => enforceRestricted(rig),
    spec: onHostNetwork,
    ...{ reason: 'PodRejected', says: /violates PodSecurity "restricted/, mostSeconds: 10 },
  },
  'a policy denies': {
    refuse: denyByPolicy,
    ...{ reason: 'PodRejected', says: /denied request: no Pods here/, mostSeconds: 10 },
  },
  'a webhook that is down keeps from its Pod': {
    refuse: denyByDeadWebhook,
    ...{ reason: 'CreateFailed', says: /failed calling webhook "dead.example.com"/, mostSeconds: 10 },
  },
  'has no author who is known': {
    refuse: () => {},
    operator: { checksAuthors: true },
    ...{ reason: 'NotAuthorized', says: /no admission policy records the authors of Ats/ },
  },
  'the Pod of a stranger keeps from its name': {
    refuse: (_, rig) => takeName(rig),
    ...{ reason: 'PodNameConflict', says: /does not belong to this At exists/, mostSeconds: 10 },
  },
  'a failing API server answers with 500': {
    refuse: (_, __, proxy) => treatCreates(proxy, () => failure(500, 'InternalError')),
    ...{ reason: 'CreateFailed', says: /InternalError/, mostSeconds: 10 },
  },
  'an overloaded API server turns away': {
    refuse: (_, __, proxy) => treatCreates(proxy, () => failure(429, 'TooManyRequests')),
    ...{ reason: 'CreateFailed', says: /TooManyRequests/ },
  },
  'an API server that does not know its client turns away': {
    refuse: (_, __, proxy) => treatCreates(proxy, () => failure(401, 'Unauthorized')),
    ...{ reason: 'CreateFailed', says: /Unauthorized/ },
  },
  'a conflict keeps from its Pod': {
    refuse: (_, __, proxy) => treatCreates(proxy, () => failure(409, 'Conflict')),
    ...{ reason: 'CreateFailed', says: /Conflict/ },
  },
  'meets connections that break': {
    refuse: (_, __, proxy) => treatCreates(proxy, breakConnection),
    ...{ reason: 'CreateFailed', says: /did not answer the create of Pod example-at-pod/, mostSeconds: 2 },
  },
  'gets no answer at all': {
    refuse: (_, __, proxy) => treatCreates(proxy, () => noAnswer),
    ...{ reason: 'CreateFailed', says: /did not answer the create of Pod example-at-pod/ },
  },
};

const stepMs = 250;
/** What a timer has begun may be sent some steps later. */
const slackMs = 4 * stepMs;
/** For the first 100 of a namespace and cause. */
const toldWithinMs = 7000;

describe('a due At', { concurrency: 6 }, () => {
  for (const [what, { refuse, spec = {}, mostSeconds }] of Object.entries(refusals)) {
    if (mostSeconds === undefined) continue;
    it(`that ${what} is tried again every ${mostSeconds} s in the end`, async (t) => {
      const rig = await AtRig.create(t);
      const { options, proxy, advanceAtRest, stopClock, startClock } = await timeTravel(t);
      await refuse(t, rig, proxy);
      const tries: number[] = [];
      const now = () => options.clock.monotonic();
      await rig.startOperator({ ...options, onConnect: noteTries(tries, now) });
      // Requests take none of this time.
      stopClock();
      try {
        const end = now() + 80_000;
        await rig.createAt(spec);
        await eventually(() => tries.length > 0, { message: 'its first create' });
        while (now() < end) await advanceAtRest(stepMs);
      } finally {
        startClock();
      }
      const gaps = tries.slice(1).map((time, index) => Math.round(time - (tries[index] ?? 0)));
      t.diagnostic(`tried again after ${gaps.join(', ')} ms`);
      const mostMs = mostSeconds * 1000;
      assert.ok(Math.max(...gaps, now() - (tries.at(-1) ?? 0)) <= mostMs + slackMs, gaps.join());
      const last = gaps.slice(-3);
      assert.ok(last.length === 3 && Math.min(...last) >= mostMs - slackMs, gaps.join());
      assert.equal((await rig.at()).status?.phase, 'PENDING');
    });
  }

  for (const [what, { refuse, spec = {}, operator = {}, reason, says }] of Object.entries(refusals)) {
    it(`that ${what} says ${reason} within 7 s`, async (t) => {
      const rig = await AtRig.create(t);
      const { options, proxy, advanceUntil, stopClock, startClock } = await timeTravel(t);
      await refuse(t, rig, proxy);
      await rig.startOperator({ ...options, ...operator });
      const isTold = async () => condition((await rig.at()).status, 'Launched') === `False ${reason}`;
      await rig.createAt(spec);
      // Its time is for the answer. One without an author does not come to a create.
      const isPodPost = ({ method, path }: Asked) => method === 'POST' && path.endsWith('/pods');
      const isTried = () => operator.checksAuthors === true || proxy.asked.some(isPodPost);
      await eventually(isTried, { message: 'its first create' });
      stopClock();
      try {
        await advanceUntil(isTold, { limitMs: toldWithinMs, message: `status says ${reason}` });
      } finally {
        startClock();
      }
      const { status } = await rig.at();
      assert.deepEqual([status?.phase, status?.reason], ['PENDING', reason]);
      assert.match(status?.message ?? '', says);
      const told = async () => (await rig.events()).includes(`${reason} (W)`);
      await eventually(told, { message: 'the Event' });
    });
  }
});
