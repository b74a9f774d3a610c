/** A whole life of an At on the real API server, each of whose writes fails. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { AtRig } from './at-rig.ts';
import { type Asked, failure, HostileProxy, lostAnswer, page, type Treatment } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const busy = {
  ...page(429, 'Too Many Requests'),
  headers: { 'content-type': 'text/html', 'retry-after': '1' },
};

const faults: Readonly<Record<string, () => Treatment>> = {
  'is done, and its connection breaks before the answer': () => lostAnswer,
  'is done, and its connection breaks in the middle of the answer': () => ({
    through: new Transform({
      transform: (_part, _encoding, done) => done(new Error('the connection breaks')),
    }),
  }),
  'is done, and answered with 500': () => ({ instead: failure(500, 'InternalError') }),
  'is done, and answered with 504': () => ({ instead: failure(504, 'Timeout') }),
  'is done, and answered with the page of a load balancer': () => ({ instead: page(502, 'Bad Gateway') }),
  'is not done, and answered with 500': () => failure(500, 'InternalError'),
  'is not done, and answered with the page of a load balancer': () => page(503, 'Service Unavailable'),
  'meets a conflict that is none': () => failure(409, 'Conflict'),
  'is turned away for a second': () => busy,
};

const isWrite = ({ method, path }: Asked) => method !== 'GET' && /\/(ats|pods)(\/|$)/.test(path);

/** Each write of these objects fails; one that was not done is done when it is tried again. Returns those that failed. */
function failEach(proxy: HostileProxy, fault: () => Treatment): readonly string[] {
  const failed: string[] = [];
  const refused = new Set<string>();
  proxy.treat = (asked) => {
    const write = `${asked.method} ${asked.path}?${asked.query}`;
    if (!isWrite(asked) || refused.delete(write)) return undefined;
    const treatment = fault();
    if (typeof treatment === 'object' && 'code' in treatment) refused.add(write);
    failed.push(write);
    return treatment;
  };
  return failed;
}

async function live(t: TestContext, fault: () => Treatment, spec: Partial<AtSpec>): Promise<void> {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  const { created } = await rig.watchReleases(t);
  const failed = failEach(proxy, fault);
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  await rig.createAt({ ...spec, disruptionPolicy: 'Retry' });
  const isReleased = async (name: string) => ((await rig.pod(name)).spec.schedulingGates ?? []).length === 0;
  for (const [attempt, name] of [
    [1, 'example-at-pod'],
    [2, 'example-at-pod-2'],
  ] as const) {
    await rig.atWhen(`in attempt ${attempt}`, ({ status }) => status?.podName === name, undefined, 60_000);
    await eventually(() => isReleased(name), { timeout: 60_000, message: `${name} may start` });
    if (attempt === 1) await rig.setPod({ phase: 'Failed', reason: 'Evicted' }, name);
    else await rig.exit(0, name);
  }
  const { status } = await rig.inPhase('DONE', undefined, 60_000);
  assert.deepEqual([status?.outcome, status?.attempts, status?.history?.length], ['Succeeded', 2, 2]);
  const isFree = async () => {
    const { items } = await rig.client.list(pods, { namespace: rig.namespace });
    return items.every(({ metadata }) => metadata.finalizers === undefined);
  };
  await eventually(isFree, { timeout: 60_000, message: 'nothing holds the Pods any more' });
  assert.equal(created.size, 2, 'one Pod for each attempt');
  assert.ok(failed.length >= 5, failed.join());
  const told = async () => (await rig.events()).includes('Completed') && rig.events();
  const events = await eventually(told, { message: 'the end is told' });
  // What kept a Pod from its create for seconds was told as well.
  assert.deepEqual(
    events.filter((event) => event !== 'CreateFailed (W)'),
    ['Launched', 'Disrupted (W)', 'Launched', 'Completed'],
  );
}

describe('an At, each of whose writes fails,', { concurrency: 6 }, () => {
  for (const [how, fault] of Object.entries(faults)) {
    for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
      it(
        `runs its attempts once and tells them, with ${launchGuarantee}, where each ${how}`,
        {
          timeout: 200_000,
        },
        (t) => live(t, fault, { launchGuarantee }),
      );
    }
  }
});
