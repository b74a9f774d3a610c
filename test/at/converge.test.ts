/**
 * The promises of an At, held against crashes, lost answers, stale caches and a second operator: decisions
 * are performed in a small world and may be cut after any write.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { dueTime } from '../fixtures/at.ts';
import { fc } from '../fixtures/property.ts';
import { Operator } from './operator.ts';
import { assertKept } from './promises.ts';
import { type Fault, faults, World } from './world.ts';

const unreadable = { command: `'` };

/** Everybody sees everything and nothing fails any more, until nothing happens. */
async function quiesce(world: World, operators: readonly Operator[], exitCode?: number): Promise<void> {
  world.removeStrangers();
  const { spec } = world.ats.get('example-at') ?? {};
  if (spec?.suspend) world.editAt({ suspend: false });
  if (spec?.command === unreadable.command) world.editAt({ command: 'echo YAY' });
  for (let round = 0, quiet = 0; round < 60 && quiet < 5; round += 1) {
    const before = world.requests.length;
    world.collectGarbage();
    world.kubelet(exitCode);
    for (const operator of operators) {
      operator.faults = [];
      operator.syncAts();
      operator.syncPods();
      await operator.reconcile();
    }
    world.now += 20_000;
    quiet = world.requests.length === before ? quiet + 1 : 0;
  }
  for (const { status } of world.ats.values()) assert.equal(status?.phase, 'DONE', JSON.stringify(status));
  const before = world.requests.length;
  await Promise.all(operators.map((operator) => operator.reconcile()));
  assert.equal(world.requests.length, before, 'silence');
}

/** The end without what times and names of processes leave in it. */
function endOf(at: At | undefined) {
  const { phase, outcome, reason, exitCode, podName, attempts } = at?.status ?? {};
  return { phase, outcome, reason, exitCode, podName, attempts };
}

interface Scenario {
  readonly name: string;
  readonly spec: Partial<AtSpec>;
  /** Absent: the command does not end by itself. */
  readonly exitCode?: number;
  /** What people do, by step. */
  readonly acts: Readonly<Record<number, (world: World) => void>>;
}

const guaranteed = { launchGuarantee: 'ExactlyOnce' } as const;
const evict = (name: string) => (world: World) => world.setPod(name, { phase: 'Failed', reason: 'Evicted' });

const scenarios: readonly Scenario[] = [
  { name: 'a command that succeeds', spec: {}, exitCode: 0, acts: {} },
  { name: 'a command that fails', spec: { backoffLimit: 0 }, exitCode: 3, acts: {} },
  { name: 'ExactlyOnce', spec: guaranteed, exitCode: 0, acts: {} },
  {
    name: 'a cancel before the launch',
    spec: {},
    exitCode: 0,
    acts: { 1: (w) => w.editAt({ cancel: true }) },
  },
  {
    name: 'a cancel of a running command',
    spec: {},
    exitCode: 0,
    acts: { 6: (w) => w.editAt({ cancel: true }) },
  },
  {
    name: 'suspend and resume',
    spec: {},
    exitCode: 0,
    acts: { 1: (w) => w.editAt({ suspend: true }), 4: (w) => w.editAt({ suspend: false }) },
  },
  {
    name: 'an eviction with Retry',
    spec: { disruptionPolicy: 'Retry' },
    exitCode: 0,
    acts: { 6: evict('example-at-pod') },
  },
  { name: 'a deadline', spec: { activeDeadlineSeconds: 1 }, acts: {} },
  { name: 'a time to live', spec: { ttlSecondsAfterFinished: 5 }, exitCode: 0, acts: {} },
  {
    name: 'a Pod that never starts',
    spec: { pendingTimeoutSeconds: 1 },
    exitCode: 0,
    acts: {},
  },
];

/** One life, step by step; the n-th write of the operator meets the fault. Returns how many writes there were. */
async function live(scenario: Scenario, fault?: { readonly write: number; readonly kind: Fault }) {
  const world = new World(dueTime - 3000);
  world.createAt(scenario.spec);
  const operator = new Operator(world);
  let writes = 0;
  for (let step = 0; step < 16; step += 1) {
    scenario.acts[step]?.(world);
    operator.syncAts();
    operator.syncPods();
    const before = world.requests.length;
    operator.faults = Array.from({ length: 12 }, (_, index) =>
      fault !== undefined && writes + index === fault.write ? fault.kind : undefined,
    );
    await operator.reconcile();
    writes += world.requests.slice(before).filter((request) => !request.startsWith('GET')).length;
    world.now += 1000;
    if (step >= 5 && step % 2 === 1) world.kubelet(scenario.exitCode);
    if (step % 3 === 2) world.land();
  }
  await quiesce(world, [operator], scenario.exitCode);
  return { world, writes };
}

describe('an At converges', () => {
  for (const scenario of scenarios) {
    it(`to the same end after a fault at any write: ${scenario.name}`, async () => {
      const faultFree = await live(scenario);
      const windows = scenario.spec.launchGuarantee !== 'ExactlyOnce';
      assertKept(faultFree.world, { windows: false });
      assert.ok(faultFree.writes > 1);
      const expected = endOf(faultFree.world.ats.get('example-at'));
      for (let write = 0; write < faultFree.writes; write += 1) {
        for (const kind of faults) {
          const { world } = await live(scenario, { write, kind });
          assertKept(world, { windows });
          const end = endOf(world.ats.get('example-at'));
          assert.deepEqual(end, expected, `write ${write}, ${kind}`);
        }
      }
    });
  }

  it('needs two status writes and one create from the due instant on', async () => {
    const { world } = await live({ name: '', spec: {}, exitCode: 0, acts: {} });
    assert.deepEqual(world.requests, [
      'PATCH ats/status',
      'POST pods',
      'PATCH ats/status',
      'PATCH ats/status',
    ]);
  });
});

type Act = 'land' | 'deletePod' | 'evict' | 'strip' | 'stranger' | 'recreate' | 'doom';

type Step =
  | { readonly act: 'time'; readonly ms: number }
  | { readonly act: 'sync'; readonly operator: number; readonly what: 'ats' | 'pods' | 'both' }
  | { readonly act: 'reconcile'; readonly operator: number; readonly faults: (Fault | undefined)[] }
  | { readonly act: 'restart'; readonly operator: number }
  | { readonly act: 'kubelet'; readonly exitCode: number | undefined }
  | { readonly act: 'edit'; readonly spec: Partial<AtSpec> }
  | { readonly act: Act };

const operatorIndex = fc.constantFrom(0, 1);
const faultList = fc.array(fc.option(fc.constantFrom(...faults), { nil: undefined, freq: 2 }), {
  maxLength: 4,
});
const time = fc.record({ act: fc.constant('time' as const), ms: fc.constantFrom(1, 1000, 3000, 6000) });
const sync = fc.record({
  act: fc.constant('sync' as const),
  operator: operatorIndex,
  what: fc.constantFrom('ats' as const, 'pods' as const, 'both' as const),
});
const reconcile = fc.record({
  act: fc.constant('reconcile' as const),
  operator: operatorIndex,
  faults: faultList,
});
const restart = fc.record({ act: fc.constant('restart' as const), operator: operatorIndex });
const kubelet = fc.record({
  act: fc.constant('kubelet' as const),
  exitCode: fc.constantFrom(0, 3, undefined),
});

/** What people do, with the Pods and with the spec. */
interface People {
  readonly acts?: readonly Act[];
  readonly edits?: readonly Partial<AtSpec>[];
}

function people({ acts = [], edits = [] }: People): fc.Arbitrary<Step> {
  const doings = [...acts.map((act) => ({ act })), ...edits.map((spec) => ({ act: 'edit' as const, spec }))];
  return fc.constantFrom<Step[]>(...doings);
}

function story(doings: People): fc.Arbitrary<Step[]> {
  const step = fc.oneof(
    { weight: 6, arbitrary: reconcile },
    { weight: 4, arbitrary: sync },
    { weight: 3, arbitrary: time },
    { weight: 2, arbitrary: kubelet },
    { weight: 1, arbitrary: restart },
    { weight: doings.edits === undefined ? 2 : 4, arbitrary: people(doings) },
  );
  return fc.array<Step>(step, { minLength: 8, maxLength: 40 });
}

/** One operator that neither crashes nor loses answers. */
function calm(doings: People): fc.Arbitrary<Step[]> {
  const answered = fc.array(fc.constantFrom<(Fault | undefined)[]>(undefined, 'refused', 'busy'), {
    maxLength: 3,
  });
  const pass = fc.record({
    act: fc.constant('reconcile' as const),
    operator: fc.constant(0),
    faults: answered,
  });
  const look = sync.map((step) => ({ ...step, operator: 0 }));
  return fc.array<Step>(fc.oneof(pass, look, time, kubelet, people(doings)), {
    minLength: 8,
    maxLength: 40,
  });
}

/** One operator that sees all that happens, at once. */
function seen(doings: People): fc.Arbitrary<Step[]> {
  const looks: readonly Step[] = [
    { act: 'sync', operator: 0, what: 'both' },
    { act: 'reconcile', operator: 0, faults: [] },
  ];
  const doing = fc.oneof(
    { weight: 1, arbitrary: fc.oneof(time, kubelet) },
    { weight: 2, arbitrary: people(doings) },
  );
  return fc
    .array<Step>(doing, { minLength: 8, maxLength: 20 })
    .map((steps) => [...looks, ...steps.flatMap((step) => [step, ...looks])]);
}

/** One step of a story about an At of this spec. */
async function perform(
  world: World,
  operator: Operator | undefined,
  step: Step,
  spec: Partial<AtSpec>,
): Promise<void> {
  switch (step.act) {
    case 'time':
      world.now += step.ms;
      break;
    case 'sync':
      if (step.what !== 'pods') operator?.syncAts();
      if (step.what !== 'ats') operator?.syncPods();
      break;
    case 'reconcile':
      if (operator !== undefined) operator.faults = [...step.faults];
      await operator?.reconcile();
      break;
    case 'restart':
      operator?.restart();
      break;
    case 'kubelet':
      world.kubelet(step.exitCode);
      break;
    case 'edit':
      world.editAt(step.spec);
      break;
    case 'land':
      world.land();
      break;
    case 'deletePod':
      world.removePods();
      break;
    case 'evict':
      for (const name of world.pods.keys()) world.setPod(name, { phase: 'Failed', reason: 'Evicted' });
      break;
    case 'strip':
      world.stripPods();
      break;
    case 'stranger':
      if (!world.pods.has('example-at-pod')) world.createStranger('example-at-pod');
      break;
    case 'recreate':
      world.removeAt();
      world.createAt(spec);
      break;
    case 'doom':
      world.doomAt();
      break;
  }
}

interface Conditions {
  readonly operators: number;
  readonly runs: number;
}

function holds(
  name: string,
  spec: Partial<AtSpec>,
  steps: fc.Arbitrary<Step[]>,
  { operators: count, runs }: Conditions,
): void {
  it(name, async () => {
    const windows = count > 1 && spec.launchGuarantee !== 'ExactlyOnce';
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const world = new World(dueTime - 2000);
        world.createAt(spec);
        const operators = Array.from({ length: count }, () => new Operator(world));
        for (const step of story) {
          await perform(world, 'operator' in step ? operators[step.operator] : undefined, step, spec);
        }
        assertKept(world, { windows });
        await quiesce(world, operators, 0);
        assertKept(world, { windows });
      }),
      { numRuns: runs },
    );
  });
}

const cancel = { cancel: true };
/** Of the time: earlier, in a moment, and so late that all else has happened before. */
const times = [-60, 3, 10].map((late) => ({ schedule: new Date(dueTime + late * 1000).toISOString() }));
const edits: readonly Partial<AtSpec>[] = [
  cancel,
  { cancel: false },
  ...times,
  { suspend: true },
  { suspend: false },
  { suspend: false, ...unreadable },
  { command: 'echo NO' },
  { activeDeadlineSeconds: 1 },
  { pendingTimeoutSeconds: 1 },
  { startingDeadlineSeconds: 1 },
  { ttlSecondsAfterFinished: 5 },
];
const policies: readonly Partial<AtSpec>[] = [{ disruptionPolicy: 'Retry' }, { disruptionPolicy: 'Fail' }];

describe('an At has at most one Pod for each attempt, never early, and comes to rest', () => {
  const two = { operators: 2, runs: 200 };
  const retrying = { disruptionPolicy: 'Retry' } as const;
  const land: People = { acts: ['land'] };
  holds('with two operators, stale caches, crashes and lost answers', {}, story(land), two);
  holds('when it is canceled at any moment', {}, story({ ...land, edits: [cancel] }), two);
  holds('with Retry and evictions', retrying, story({ acts: ['land', 'evict'] }), two);
  holds(
    'with Retry, evictions, deletions and a cancel',
    retrying,
    story({ acts: ['land', 'evict', 'deletePod'], edits: [cancel] }),
    two,
  );
  holds(
    'with Retry, deletions and a cancel that is taken back, also where Pods lose their owner',
    retrying,
    seen({ acts: ['strip', 'deletePod'], edits: [cancel, { cancel: false }] }),
    { operators: 1, runs: 200 },
  );
  holds(
    'when it is deleted and created again under the same name',
    {},
    story({ acts: ['land', 'recreate', 'doom'] }),
    two,
  );
  holds(
    'with ExactlyOnce, even when its Pod is deleted at any moment',
    guaranteed,
    story({ acts: ['land', 'deletePod'], edits: [cancel] }),
    { ...two, runs: 400 },
  );
  holds(
    'with one operator that gets its answers, even when its Pod is deleted (B6)',
    {},
    calm({ acts: ['deletePod'] }),
    { operators: 1, runs: 200 },
  );
});

describe('an At is what its spec said when it was launched, whatever people edit at any moment', () => {
  const all: readonly Act[] = ['land', 'deletePod', 'evict', 'stranger', 'recreate', 'doom'];
  const two = { operators: 2, runs: 400 };
  holds('with the default policy', {}, story({ acts: all, edits }), two);
  holds('with either policy', {}, story({ acts: all, edits: [...edits, ...policies] }), two);
  holds(
    'with Retry, when only the run is edited',
    policies[0] ?? {},
    story({ acts: ['land', 'evict', 'deletePod'], edits: [...policies, { command: 'echo NO' }] }),
    two,
  );
  holds('with ExactlyOnce', guaranteed, story({ acts: all, edits }), two);
});
