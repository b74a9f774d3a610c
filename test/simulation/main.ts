/**
 * Runs simulations. Options by environment, as `make simulate` passes them on:
 *
 *     SEED=…      replays one, with its story and a shrunk plan (PLAN=file.json: a plan instead of a seed)
 *     HOURS=…     goes on for so long, on both cores
 *     SECONDS=…   so many CPU-seconds; default 60
 *
 *     --fixed     the seeds of `make test`, which are always the same
 *     --worker    one process of several: runs seeds from standard input, and reports each with a line of JSON
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Figures, type RunReport, reportOf } from './figures.ts';
import { startsAt } from './plan/draw-ats.ts';
import { drawPlan, seedsOf } from './plan/draw-plan.ts';
import type { Plan } from './plan/plan.ts';
import { type RunResult, runPlan } from './run/run.ts';
import { shrink } from './shrink.ts';
import { Story } from './story.ts';

/** So many seeds of each length are run in `make test`: about a minute of CPU time. */
const fixedSeeds = 60;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { fixed: { type: 'boolean' }, worker: { type: 'boolean' } } });
  const { SEED = '', PLAN = '', HOURS = '', SECONDS = '60' } = process.env;
  if (values.worker) return work();
  if (PLAN !== '') return replay(JSON.parse(readFileSync(PLAN, 'utf8')));
  if (SEED !== '') return replay(drawPlan(SEED));
  if (values.fixed) return simulateFixed();
  const seconds = HOURS === '' ? Number(SECONDS) : Number(HOURS) * 3600 * availableParallelism();
  const name = Date.now().toString(36);
  await simulate(seedsOf(name), seconds);
}

/**
 * Flags of Node.js for a process that runs many seeds: errors are made by the thousand and their stacks are not read,
 * most objects die young, and no function is so hot that compiling it early is a loss.
 */
export const workerFlags: readonly string[] = [
  '--stack-trace-limit=0',
  '--max-semi-space-size=64',
  '--always-sparkplug',
];

/** Ms of CPU time that this process has used. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function runSeed(seed: string): Promise<RunReport> {
  const before = cpuTime();
  const result = await runPlan(drawPlan(seed));
  return reportOf(result, cpuTime() - before);
}

async function work(): Promise<void> {
  for await (const seed of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await runSeed(seed)));
  }
}

/** Runs seeds in child processes until their CPU time is used up or the seeds are. */
async function simulate(seeds: Iterator<string>, seconds: number): Promise<Figures> {
  const figures = new Figures();
  const broken: RunReport[] = [];
  await inChildren(seeds, (report) => {
    figures.add(report);
    const { seed, news, simulated, requests, cpu } = report;
    const text = news === undefined ? 'kept' : `BROKEN ${news.promise}: ${news.text}`;
    console.log(
      `${seed}: ${Math.round(simulated / 60_000)} min, ${requests} requests, ${Math.round(cpu)} ms: ${text}`,
    );
    if (news !== undefined) broken.push(report);
    return figures.cpu / 1000 < seconds;
  });
  console.log(`\n${figures.table()}\n\n${figures.promises()}\n\n${figures.text()}`);
  for (const { seed, news } of broken)
    console.log(`make simulate SEED=${seed}   # ${news?.promise} ${news?.clue}`);
  if (broken.length > 0 || (figures.isLong && figures.unreached.length > 0)) process.exitCode = 1;
  return figures;
}

/** The seeds of `make test`: between them they are about every promise. */
async function simulateFixed(): Promise<void> {
  const { idle } = await simulate(seedsOf('fixed', fixedSeeds), Number.POSITIVE_INFINITY);
  for (const promise of idle) console.log(`no run was about ${promise}`);
  if (idle.length > 0) process.exitCode = 1;
}

/**
 * A seed whose process ends before it has reported is told, and counts as a failure; another process goes on.
 *
 * @param onReport returns whether to go on.
 */
async function inChildren(seeds: Iterator<string>, onReport: (report: RunReport) => boolean): Promise<void> {
  let goesOn = true;
  const child = async (): Promise<void> => {
    const args = [...process.execArgv, ...workerFlags, import.meta.filename, '--worker'];
    const worker = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(worker, 'close');
    // What it could not be sent is told by its end.
    worker.stdin.on('error', () => {});
    let reports = 0;
    let running: string | undefined;
    const next = () => {
      const { value, done } = goesOn ? seeds.next() : { value: undefined, done: true };
      running = value;
      if (done) worker.stdin.end();
      else worker.stdin.write(`${value}\n`);
    };
    next();
    for await (const line of createInterface({ input: worker.stdout })) {
      reports += 1;
      goesOn = onReport(JSON.parse(line)) && goesOn;
      next();
    }
    const [code, signal] = await closed;
    if (running === undefined) return;
    console.log(`${running}: its process ended with ${signal ?? code}`);
    process.exitCode = 1;
    if (reports === 0) throw new Error('no process comes as far as a report');
    return child();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, child));
}

/** The story of one run; of one that breaks a promise also the smallest plan that does. */
async function replay(plan: Plan): Promise<void> {
  const { story, result } = await tell(plan);
  console.log(story.text(result.violations, 300));
  const [first] = result.violations;
  if (first === undefined) {
    console.log(`\nall promises were kept, trace ${result.traceHash}`);
    return;
  }
  process.exitCode = 1;
  const breaks = async (candidate: Plan) => {
    const { violations } = await runPlan(candidate);
    return violations.some(({ promise, clue }) => promise === first.promise && clue === first.clue);
  };
  const small = await shrink(plan, breaks);
  const retold = await tell(small);
  const count = (one: Plan) => `${one.deeds.length} deeds and ${one.faults.length} faults`;
  console.log(`\nShrunk from ${count(plan)} to ${count(small)}, ${small.replicas} replicas:\n`);
  console.log(retold.story.text(retold.result.violations, 120));
  console.log(`\n${JSON.stringify(small)}`);
}

async function tell(plan: Plan): Promise<{ story: Story; result: RunResult }> {
  const story = new Story(startsAt);
  const result = await runPlan(plan, { onEntry: (entry) => story.see(entry) });
  return { story, result };
}

if (import.meta.main) {
  await main();
  // Replicas that were stopped in the middle of something wait for ever.
  process.exit();
}
