/**
 * Every story there is, up to a length: one At, two operators that look at caches of any age, crash and lose answers
 * twice in all, before or after any of their writes, and creates that land late. Stories that lead to the same state
 * are told on once.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { assertKept } from './promises.ts';
import { type Fault, World } from './world.ts';

interface State {
  readonly world: World;
  readonly operators: readonly Operator[];
  faults: number;
  /** The passes of processes that are stopped, by operator. */
  readonly stopped: Map<number, Promise<unknown>>;
  /** Writes of the last act. */
  writes: number;
}

type Act = (state: State) => Promise<void>;

const maxFaults = 2;
const { stackTraceLimit } = Error;

interface Pass {
  readonly index: number;
  readonly look: 'old' | 'new';
  /** What the write of this number meets. */
  readonly fault?: { readonly write: number; readonly kind: Fault };
}

function reconcile({ index, look, fault }: Pass): Act {
  return async (state) => {
    const operator = state.operators[index];
    assert.ok(operator);
    state.writes = 0;
    if (state.stopped.has(index)) return;
    if (look === 'new') {
      operator.syncAts();
      operator.syncPods();
    }
    const before = state.world.requests.length;
    operator.faults = fault === undefined ? [] : [...Array(fault.write), fault.kind];
    const stop = state.world.stop.then(() => true);
    const pass = operator.reconcile();
    if (await Promise.race([pass.then(() => false), stop])) state.stopped.set(index, pass);
    const requests = state.world.requests.slice(before);
    state.writes = requests.filter((request) => !request.startsWith('GET')).length;
    state.faults += fault === undefined ? 0 : 1;
  };
}

const people = {
  kubelet: async ({ world }) => world.kubelet(0),
  land: async ({ world }) => world.land(),
  deletePod: async ({ world }) => world.removePods(),
  evict: async ({ world }) => {
    for (const name of world.pods.keys()) world.setPod(name, { phase: 'Failed', reason: 'Evicted' });
  },
  suspend: async ({ world }) => world.editAt({ suspend: true }),
  resume: async ({ world }) => world.editAt({ suspend: false }),
  cancel: async ({ world }) => world.editAt({ cancel: true }),
  goOn: async (state) => {
    state.world.goOn();
    await Promise.all(state.stopped.values());
    state.stopped.clear();
  },
} as const satisfies Record<string, Act>;

interface Kind {
  readonly spec: Partial<AtSpec>;
  /** What operators meet. */
  readonly faults: readonly Fault[];
  /** What happens beside them. */
  readonly acts: readonly (keyof typeof people)[];
  /** What has happened before. */
  readonly prologue?: readonly Act[];
  /** Acts of a story. */
  readonly length: number;
}

async function tell({ spec, prologue = [] }: Kind, story: readonly Act[]): Promise<State> {
  const world = new World(dueTime);
  world.createAt(spec);
  const operators = [new Operator(world), new Operator(world)];
  const state: State = { world, operators, stopped: new Map(), faults: 0, writes: 0 };
  for (const act of [...prologue, ...story]) await act(state);
  return state;
}

/** Equal for states that differ in the numbers of versions and uids only. */
function digest({ world, operators, faults, stopped }: State): string {
  const views = operators.map(({ ats, pods, knows }) => ({
    ats: [...ats.values()],
    pods: [...pods.values()],
    knows,
  }));
  const { now, late, releases } = world;
  const all = {
    now,
    late,
    releases,
    ats: [...world.ats.values()],
    pods: [...world.pods.values()],
    views,
    faults,
    stopped: [...stopped.keys()],
  };
  const names = new Map<string, number>();
  return JSON.stringify(all).replace(/\b1\d\d\b/g, (number) => {
    if (!names.has(number)) names.set(number, names.size);
    return `#${names.get(number)}`;
  });
}

interface Story {
  readonly names: readonly string[];
  readonly acts: readonly Act[];
}

class Exploration {
  readonly #kind: Kind;
  readonly #check: (state: State) => void;
  readonly #known = new Set<string>();
  #stories: Story[] = [{ names: [], acts: [] }];
  #next: Story[] = [];

  constructor(kind: Kind, check: (state: State) => void) {
    this.#kind = kind;
    this.#check = check;
  }

  /** Returns how many states there are. */
  async explore(): Promise<number> {
    for (let round = 0; round < this.#kind.length; round += 1) {
      this.#next = [];
      for (const story of this.#stories) await this.#continue(story);
      this.#stories = this.#next;
    }
    return this.#known.size;
  }

  async #continue(story: Story): Promise<void> {
    for (const name of this.#kind.acts) await this.#add(story, name, people[name]);
    // As long as neither has done anything, they are the same.
    const isFirst = story.names.every((name) => !name.startsWith('operator'));
    for (const index of isFirst && this.#kind.prologue === undefined ? [0] : [0, 1]) {
      for (const look of ['old', 'new'] as const) await this.#addPasses(story, { index, look });
    }
  }

  /** A pass without faults, and one for each fault that each of its writes may meet. */
  async #addPasses(story: Story, pass: Pass): Promise<void> {
    const name = `operator ${pass.index}, ${pass.look} cache`;
    const { writes, faults } = await this.#add(story, name, reconcile(pass));
    if (faults >= maxFaults) return;
    for (let write = 0; write < writes; write += 1) {
      for (const kind of this.#kind.faults) {
        await this.#add(story, `${name}, ${kind} ${write}`, reconcile({ ...pass, fault: { write, kind } }));
      }
    }
  }

  async #add({ names, acts }: Story, name: string, act: Act): Promise<State> {
    const story = { names: [...names, name], acts: [...acts, act] };
    const state = await tell(this.#kind, story.acts);
    const seen = digest(state);
    if (this.#known.has(seen)) return state;
    this.#known.add(seen);
    try {
      this.#check(state);
    } catch (error) {
      throw new Error(`after: ${story.names.join('; ')}`, { cause: error });
    }
    this.#next.push(story);
    return state;
  }
}

function holds(name: string, kind: Kind, { doubles }: { readonly doubles: boolean }): void {
  it(name, async (t) => {
    let doubled = 0;
    // A third of the time goes into stacks of errors that are part of the story.
    t.after(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });
    Error.stackTraceLimit = 0;
    const windows = kind.spec.launchGuarantee !== 'ExactlyOnce';
    const states = await new Exploration(kind, ({ world }) => {
      assertKept(world, { windows });
      doubled += new Set(world.creations.map((one) => one.name)).size < world.creations.length ? 1 : 0;
    }).explore();
    assert.ok(states > 100, `${states} states`);
    assert.equal(doubled > 0, doubles, `${doubled} states in which a Pod had been created twice`);
  });
}

const crashes = ['crashBefore', 'crashAfter'] as const;
const guaranteed = { launchGuarantee: 'ExactlyOnce' } as const;
const again: Pass = { index: 0, look: 'new' };
/** The first Pod runs, and both operators know it. */
const running = [reconcile(again), reconcile(again), reconcile({ ...again, index: 1 })];

describe('every story of one At, two operators and two faults', () => {
  holds(
    'has one Pod at most',
    { spec: {}, faults: [...crashes, 'late'], acts: ['kubelet', 'land'], length: 5 },
    { doubles: false },
  );
  holds(
    'has a second Pod in the two documented windows only, when a user deletes the first',
    { spec: {}, faults: [...crashes, 'late'], acts: ['kubelet', 'land', 'deletePod'], length: 5 },
    { doubles: true },
  );
  holds(
    'has one Pod at most for each attempt of Retry',
    {
      spec: { disruptionPolicy: 'Retry' },
      prologue: [...running, people.evict],
      faults: [...crashes, 'late'],
      acts: ['kubelet', 'land', 'evict'],
      length: 4,
    },
    { doubles: false },
  );
  holds(
    'has a second Pod of an attempt in the documented windows only',
    {
      spec: { disruptionPolicy: 'Retry' },
      prologue: running,
      faults: [...crashes, 'late'],
      acts: ['land', 'deletePod'],
      length: 5,
    },
    { doubles: true },
  );
  holds(
    'releases one Pod at most with ExactlyOnce, even when a user deletes it before',
    { spec: guaranteed, faults: [...crashes, 'late'], acts: ['land', 'deletePod', 'kubelet'], length: 5 },
    { doubles: true },
  );
  holds(
    'releases no Pod but the recorded one, however long a process is stopped',
    {
      spec: guaranteed,
      faults: ['stopBefore', 'stopAfter'],
      acts: ['goOn', 'deletePod', 'suspend', 'resume'],
      length: 5,
    },
    { doubles: true },
  );
  holds(
    'releases one Pod at most for each attempt of Retry with ExactlyOnce',
    {
      spec: { ...guaranteed, disruptionPolicy: 'Retry' },
      prologue: [...running, people.kubelet, people.kubelet, people.evict],
      faults: [...crashes, 'late'],
      acts: ['land', 'deletePod', 'cancel'],
      length: 4,
    },
    { doubles: true },
  );
});
