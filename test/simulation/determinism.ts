/**
 * Runs the stories and the plans of many seeds and prints their trace hashes, one line each: `seed story plan`.
 *
 *     node test/simulation/determinism.ts FIRST COUNT            in this order
 *     node test/simulation/determinism.ts FIRST COUNT --check    again in another process, backwards, elsewhere on
 *                                                                earth and with little memory; fails on a difference
 */
import { execFileSync } from 'node:child_process';
import { runStory } from './determinism-story.ts';
import { drawPlan } from './plan/draw-plan.ts';
import { runPlan } from './run/run.ts';

const [first = '1', count = '10', mode = ''] = process.argv.slice(2);
const seeds = Array.from({ length: Number(count) }, (_, index) => `${Number(first) + index}`);

/** What the other process prints for these seeds, in their order. */
function elsewhere(): string[] {
  const file = new URL(import.meta.url).pathname;
  const args = ['--max-semi-space-size=1', file, first, count, '--backwards'];
  const env = { ...process.env, TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8' };
  const output = execFileSync(process.execPath, args, { env, encoding: 'utf8', maxBuffer: 2 ** 26 });
  return output.trim().split('\n').toReversed();
}

const lines: string[] = [];
for (const seed of mode === '--backwards' ? seeds.toReversed() : seeds) {
  const { hash } = await runStory(seed);
  const { traceHash } = await runPlan(drawPlan(seed));
  lines.push(`${seed} ${hash} ${traceHash}`);
  if (mode !== '--check') console.log(lines.at(-1));
}
if (mode === '--check') {
  const others = elsewhere();
  const differing = lines.filter((line, index) => line !== others[index]);
  for (const line of differing) console.error(`differs: ${line} / ${others[lines.indexOf(line)]}`);
  console.log(`${lines.length - differing.length} of ${lines.length} seeds have the same trace hash again`);
  if (differing.length > 0) process.exitCode = 1;
}
