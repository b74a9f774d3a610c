/** What simulations have found: each row is a plan that broke a promise, as small as it can be, with its story. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startsAt } from './plan/draw-ats.ts';
import type { Plan } from './plan/plan.ts';
import { ends } from './regressions/ends.ts';
import { launches } from './regressions/launches.ts';
import { leadership } from './regressions/leadership.ts';
import { minute } from './regressions/parts.ts';
import { requests } from './regressions/requests.ts';
import { restarts } from './regressions/restarts.ts';
import { rollouts } from './regressions/rollouts.ts';
import { tracking } from './regressions/tracking.ts';
import { runPlan } from './run/run.ts';
import { Story } from './story.ts';

function planOf(seed: string, plan: Partial<Plan>): Plan {
  const defaults = {
    duration: minute,
    replicas: 1,
    servers: 1,
    election: false,
    features: [],
    deeds: [],
    faults: [],
  };
  const { replicas = 1 } = plan;
  const clocks = Array.from({ length: replicas }, () => ({ skew: 0, drift: 0 }));
  return { ...defaults, seed, clocks, ...plan };
}

describe('what simulations have found', () => {
  for (const { sentence, promise, plan } of [
    ...ends,
    ...launches,
    ...restarts,
    ...tracking,
    ...leadership,
    ...requests,
    ...rollouts,
  ]) {
    it(`stays mended: ${sentence} (${promise})`, async () => {
      const story = new Story(startsAt);
      const { violations } = await runPlan(planOf(sentence, plan), { onEntry: (entry) => story.see(entry) });
      assert.deepEqual(violations, [], story.text(violations, 60));
    });
  }
});
