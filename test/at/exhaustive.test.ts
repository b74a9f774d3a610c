/**
 * Every story there is, up to a length: one At, two operators that look at caches of any age and may crash
 * twice in all, before or after any of their writes. Stories that lead to the same state are told on once.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { type Fault, World } from './world.ts';

interface State {
  readonly world: World;
  readonly operators: readonly Operator[];
  crashes: number;
  /** Milliseconds since the beginning. */
  waited: number;
}

type Act = (state: State) => Promise<void>;

const mostCrashes = 2;
/** Milliseconds. */
const longestWait = 10_000;

function reconcile(index: number, look: 'old' | 'new', faults: readonly (Fault | undefined)[]): Act {
  return async (state) => {
    const operator = state.operators[index];
    assert.ok(operator);
    if (look === 'new') {
      operator.syncAts();
      operator.syncPods();
    }
    operator.faults = [...faults];
    const result = await operator.reconcile();
    if (result instanceof Error) state.crashes += 1;
  };
}

const acts: Readonly<Record<string, Act>> = {
  ...Object.fromEntries(
    [0, 1].flatMap((index) =>
      (['old', 'new'] as const).flatMap((look) =>
        [[], ['crashBefore'], ['crashAfter'], [undefined, 'crashBefore'], [undefined, 'crashAfter']].map(
          (faults): [string, Act] => [
            `operator ${index}, ${look} cache, ${faults.join(' ')}`,
            reconcile(index, look, faults as (Fault | undefined)[]),
          ],
        ),
      ),
    ),
  ),
  kubelet: async ({ world }) => world.kubelet(0),
};
const wait: Act = async (state) => {
  state.world.now += 5000;
  state.waited += 5000;
};
const deletePod: Act = async ({ world }) => world.removePods();

async function tell(story: readonly Act[], spec: Partial<AtSpec>): Promise<State> {
  const world = new World(dueTime);
  world.createAt(spec);
  const state = { world, operators: [new Operator(world), new Operator(world)], crashes: 0, waited: 0 };
  for (const act of story) await act(state);
  return state;
}

/** Equal for states that differ in the numbers of versions, uids and processes only. */
function digest({ world, operators, crashes, waited }: State): string {
  const views = operators.map(({ ats, pods, knows, holder }) => ({
    ats: [...ats.values()],
    pods: [...pods.values()],
    knows,
    holder,
  }));
  const all = { ats: [...world.ats.values()], pods: [...world.pods.values()], views, crashes, waited };
  const names = new Map<string, number>();
  return JSON.stringify(all).replace(/\b1\d\d\b|process-\d+/g, (number) => {
    if (!names.has(number)) names.set(number, names.size);
    return `#${names.get(number)}`;
  });
}

interface Story {
  readonly names: readonly string[];
  readonly acts: readonly Act[];
}

/** Returns how many states there are. */
async function explore(
  spec: Partial<AtSpec>,
  more: Readonly<Record<string, Act>>,
  length: number,
  check: (state: State) => void,
): Promise<number> {
  const known = new Set<string>();
  const isNew = async ({ names, acts }: Story): Promise<boolean> => {
    const state = await tell(acts, spec);
    const seen = digest(state);
    if (state.crashes > mostCrashes || state.waited > longestWait || known.has(seen)) return false;
    known.add(seen);
    try {
      check(state);
    } catch (error) {
      throw new Error(`after: ${names.join('; ')}`, { cause: error });
    }
    return true;
  };
  let stories: Story[] = [{ names: [], acts: [] }];
  for (let round = 0; round < length; round += 1) {
    const longer = stories.flatMap((story) =>
      Object.entries({ ...acts, ...more }).map(
        ([name, act]): Story => ({ names: [...story.names, name], acts: [...story.acts, act] }),
      ),
    );
    stories = [];
    for (const story of longer) if (await isNew(story)) stories.push(story);
  }
  return known.size;
}

function oneCreation({ world }: State): void {
  assert.ok(world.creations.length <= 1, `${world.creations.length} Pods were created`);
  assert.deepEqual(world.violations, []);
  for (const { status } of world.ats.values()) {
    assert.ok(
      world.deletions.length > 0 || status?.reason !== 'PodLost',
      'a Pod that is there was called lost',
    );
    assert.ok(status?.outcome !== 'Succeeded' || world.creations.length === 1, 'success without a run');
  }
}

describe('every story of one At, two operators and two crashes', () => {
  it('creates one Pod at most', async () => {
    const states = await explore({}, {}, 5, oneCreation);
    assert.ok(states > 100, `${states} states`);
  });

  it('creates one Pod at most with AtMostOnce, even when somebody deletes it', async () => {
    const spec = { launchGuarantee: 'AtMostOnce', backoffLimit: 0 } as const;
    const states = await explore(spec, { wait, deletePod }, 5, oneCreation);
    assert.ok(states > 100, `${states} states`);
  });
});
