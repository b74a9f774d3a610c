import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runStory } from './determinism-story.ts';
import { drawPlan } from './plan/draw-plan.ts';
import { withoutRealWorld } from './real-world.ts';
import { runPlan } from './run/run.ts';

describe('a simulated run', () => {
  it('reaches no real time, no real chance and no I/O, over the whole life of three replicas', async () => {
    const plans = ['1', '2', '3'].map(drawPlan);
    const reached = await withoutRealWorld(async () => {
      for (const seed of ['1', '2', '3']) await runStory(seed);
      // The promises read what the operator was granted from its manifests.
      for (const plan of plans) await runPlan(plan, { promises: [] });
    });
    assert.deepEqual(reached, []);
  });

  it('would be seen to reach them', async () => {
    const attempts: readonly (() => unknown)[] = [
      () => setTimeout(() => {}, 1),
      () => setImmediate(() => {}),
      () => Math.random(),
      () => Date.now(),
      () => new Date(),
      () => performance.now(),
      () => randomBytes(8),
      () => crypto.randomUUID(),
      () => readFileSync('/etc/hostname'),
      () => AbortSignal.timeout(1),
    ];
    const reached = await withoutRealWorld(async () => {
      for (const attempt of attempts) assert.throws(attempt, /was reached/);
      assert.equal(new Date(0).toISOString(), '1970-01-01T00:00:00.000Z');
      assert.equal(createHash('sha256').update('').digest('hex').length, 64);
    });
    assert.equal(reached.length, attempts.length);
    assert.ok(new Date() instanceof Date && Math.random() < 1);
  });
});

/** Real time and real chance, as they stand in code; not methods of the same name, such as a socket's setTimeout. */
const real =
  /(?<!(?<!globalThis)\.)\b(setTimeout|setInterval|setImmediate|Math\.random|randomUUID|randomBytes|process\.hrtime|crypto\.random\w+|AbortSignal\.timeout|getRandomValues|Date\.now|performance\.now|node:timers)\b|new Date\(\)/g;

/** Where they may stand: the ports themselves, what lies below the seam of the connections, and defaults. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/runtime/clock.ts': ['setTimeout', 'setImmediate', 'Date.now', 'performance.now'],
  'src/runtime/randomness.ts': ['Math.random', 'randomUUID', 'randomBytes'],
  'src/runtime/cache/informers.ts': ['Math.random'],
  'src/runtime/client/connect.ts': ['Math.random'],
  'src/runtime/client/endpoint.ts': ['setTimeout'],
  'src/runtime/client/proxy-tunnel.ts': ['setTimeout'],
  'src/runtime/client/undici-connection.ts': ['setImmediate'],
  'src/runtime/events/event-broadcaster.ts': ['Math.random'],
  'src/runtime/leader/leader-elector.ts': ['Math.random'],
  // A key is made of real chance; simulated runs serve no metrics.
  'src/runtime/metrics/self-signed-certificate.ts': ['randomBytes'],
  // The plugins are no part of the operator, and of no simulation.
  'src/cli/program/process-host.ts': ['setTimeout'],
  'src/testing/simulation.ts': ['setImmediate'],
};

describe('the source', () => {
  it('names real time and real chance in few places', () => {
    const found: Record<string, string[]> = {};
    for (const file of globSync('src/**/*.ts').toSorted()) {
      const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      const names = [...new Set(Array.from(code.matchAll(real), ([name]) => name))];
      if (names.length > 0) found[file] = names.toSorted();
    }
    const expected = Object.entries(allowed).map(([file, names]) => [file, names.toSorted()]);
    assert.deepEqual(found, Object.fromEntries(expected));
  });
});
