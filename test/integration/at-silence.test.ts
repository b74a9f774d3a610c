/** What the operator asks and writes for Ats of which nothing is due: nothing. On a real API server. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { AtRig } from './at-rig.ts';
import type { Asked } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const minute = 60_000;
const farAway = '2100-01-01T00:00:00Z';

before(() => applyCrds());

/**
 * Watches, clock probes and discovery. A watch that time travel cuts in the middle of its answer begins anew, and may
 * load its collection by a list.
 */
const isAlwaysAsked = ({ method, path, query }: Asked) =>
  query.has('watch') ||
  (method === 'GET' && /\/(ats|pods)$/.test(path)) ||
  path === '/version' ||
  /^\/apis?(\/[^/]+){0,2}$/.test(path);

interface Row {
  readonly spec: Partial<AtSpec>;
  /** What becomes of it then. */
  readonly act?: (rig: AtRig, name: string) => Promise<unknown>;
  /** Where it stays: phase, and outcome or reason. */
  readonly state: string;
}

/** The kubelet has its Pod, of which the scheduler says nothing more. */
async function start(rig: AtRig, name: string): Promise<void> {
  await rig.inPhase('RUNNING', name);
  await rig.unschedulable(`${name}-pod`);
  await rig.start(`${name}-pod`);
}

const end = (exitCode: number) => async (rig: AtRig, name: string) => {
  await start(rig, name);
  await rig.exit(exitCode, `${name}-pod`);
};

const once = { launchGuarantee: 'ExactlyOnce' } as const;

const rows: Readonly<Record<string, Row>> = {
  'far-away': { spec: { schedule: farAway }, state: 'PENDING Armed' },
  suspended: { spec: { suspend: true }, state: 'PENDING Suspended' },
  invalid: { spec: { command: `echo "it's` }, state: 'PENDING InvalidCommand' },
  running: { spec: {}, act: start, state: 'RUNNING' },
  'running-once': { spec: once, act: start, state: 'RUNNING' },
  limited: { spec: { activeDeadlineSeconds: 360_000 }, act: start, state: 'RUNNING' },
  retried: { spec: { disruptionPolicy: 'Retry' }, act: start, state: 'RUNNING' },
  failing: {
    spec: {},
    act: async (rig, name) => {
      await start(rig, name);
      await rig.failAgain(1, `${name}-pod`);
    },
    state: 'RUNNING CommandFailing',
  },
  succeeded: { spec: {}, act: end(0), state: 'DONE Succeeded' },
  'succeeded-once': { spec: once, act: end(0), state: 'DONE Succeeded' },
  failed: { spec: { backoffLimit: 0 }, act: end(3), state: 'DONE Failed' },
  kept: { spec: { ttlSecondsAfterFinished: 360_000 }, act: end(0), state: 'DONE Succeeded' },
  canceled: { spec: { cancel: true }, state: 'DONE Canceled' },
  missed: { spec: { startingDeadlineSeconds: 1 }, state: 'DONE Missed' },
};

function stateOf({ status }: At): string {
  const { phase, outcome, reason } = status ?? {};
  return [phase, outcome ?? reason].filter((word) => word !== undefined).join(' ');
}

it('Ats that wait, run or are over cost no request for an hour', { timeout: 180_000 }, async (t) => {
  const rig = await AtRig.create(t);
  const { options, proxy, advanceAtRest } = await timeTravel(t);
  await rig.startOperator(options);
  await Promise.all(
    Object.entries(rows).map(async ([name, { spec, act }]) => {
      await rig.createAt(spec, name);
      await act?.(rig, name);
    }),
  );
  const found = async () => (await rig.client.list(ats, { namespace: rig.namespace })).items;
  const states = async () => Object.fromEntries((await found()).map((at) => [at.metadata.name, stateOf(at)]));
  const expected = Object.fromEntries(Object.entries(rows).map(([name, { state }]) => [name, state]));
  const areThere = async () => {
    assert.deepEqual(await states(), expected);
    return true;
  };
  await eventually(areThere, { message: 'each is where it stays' });
  const asked = () => proxy.asked.filter((one) => !isAlwaysAsked(one));
  let known = -1;
  const isSettled = () => {
    const before = known;
    known = asked().length;
    return known === before;
  };
  // Events come behind the status, and what is to be told of a Pod behind that.
  await eventually(isSettled, { timeout: 60_000, interval: 3000, message: 'all is told' });
  const before = await found();
  const probedUntil = proxy.asked.length;
  for (let passed = 0; passed < 60 * minute; passed += minute / 4) await advanceAtRest(minute / 4);
  // What the last step has begun is over.
  await advanceAtRest(0);
  const since = asked().slice(known);
  const isProbe = ({ path }: Asked) => path === '/version';
  assert.deepEqual(proxy.asked.slice(probedUntil).filter(isProbe), [], 'a right clock costs nothing');
  assert.deepEqual(
    since.map(({ method, path }) => `${method} ${path}`),
    [],
  );
  const versions = (some: readonly At[]) => some.map(({ metadata }) => metadata.resourceVersion);
  assert.deepEqual(versions(await found()), versions(before));
  // The operator is still at work.
  await rig.editAt({ cancel: true }, 'running');
  await rig.stopped('running-pod');
});
