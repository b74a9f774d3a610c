import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../src/testing/random.ts';
import { expectedFaults } from './figures.ts';
import { atScenes } from './plan/at-scenes.ts';
import { drawPlan } from './plan/draw-plan.ts';
import { drawScenes } from './plan/draw-scenes.ts';
import type { Feature } from './plan/features.ts';
import type { FaultPlan, Plan } from './plan/plan.ts';
import type { SceneDraw } from './plan/scene.ts';
import { watcherScenes } from './plan/watcher-scenes.ts';
import { Run } from './run/run.ts';
import { states } from './states.ts';

const duration = 120_000;
const begin = 1000;
const draw: Omit<SceneDraw, 'random'> = {
  ...{ features: new Set(), duration, name: 'scene-0', begin, end: begin + 75_000 },
};

function planOf(parts: Pick<Plan, 'deeds' | 'faults'>): Plan {
  return {
    ...{ seed: 'scene', duration, replicas: 1, election: false, servers: 1, features: ['at-author'] },
    ...{ clocks: [{ skew: 0, drift: 0 }], ...parts },
  };
}

describe('a scene', () => {
  for (const [row, make] of Object.entries({ ...atScenes, ...watcherScenes })) {
    it(`brings an object into the state ${row}`, async () => {
      for (const variant of ['one', 'another']) {
        const { deeds, faults = [], from, nudge } = make({ ...draw, random: new Random(variant) });
        const isThere = begin + from;
        const all = nudge === undefined ? deeds : [...deeds, nudge(isThere, 0)];
        const run = new Run(planOf({ deeds: all, faults }), { promises: [] });
        await run.cluster.simulation.run({ until: isThere + 500 });
        const rows = [...run.result.cells.keys()].map((cell) => cell.split(' × ')[0]);
        assert.ok(rows.includes(row), rows.join());
      }
    });
  }

  it('is of a state that the table has', () => {
    const known = states.map(({ row }) => row);
    for (const row of Object.keys({ ...atScenes, ...watcherScenes })) assert.ok(known.includes(row), row);
  });

  it('meets faults of every kind', () => {
    const runs = { moments: [], runs: [], replicas: 1, servers: 1, election: true };
    const kinds = new Set(
      Array.from({ length: 50 }, (_, seed) => {
        const features: ReadonlySet<Feature> = new Set(['aimed', 'at']);
        return drawScenes({ ...draw, ...runs, duration: 300_000, features, random: new Random(`${seed}`) });
      }).flatMap(({ faults }) => faults.flatMap((one) => (one.fault === 'aimed' ? [one.strike.fault] : []))),
    );
    assert.deepEqual(
      expectedFaults.filter((kind) => !kinds.has(kind as FaultPlan['fault'])),
      ['no fault'],
    );
  });

  it('is in every plan that aims faults at states, and in no other', () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const { features, deeds, faults } = drawPlan(`scenes ${seed}`);
      const isAimed = features.includes('aimed');
      assert.equal(
        deeds.some(
          ({ do: what, ...deed }) => what !== 'pod' && 'name' in deed && deed.name.startsWith('scene-'),
        ),
        isAimed,
      );
      assert.equal(
        faults.some(({ fault }) => fault === 'aimed'),
        isAimed,
      );
    }
  });
});
