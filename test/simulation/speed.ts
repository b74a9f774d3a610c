/**
 * How fast the simulator is, in the three measures that it is held to: the operator under all promises, with faults.
 * Prints one line each: the figures of a process that has run for a while, as the nights of `make simulate HOURS=…` and
 * the checks of planted bugs do, and those of its first seconds, in which most code is not compiled yet. It runs with
 * the flags of Node.js that `make simulate` gives its processes.
 *
 *     node test/simulation/speed.ts [election|alone|busy] [CPU-SECONDS OF EACH]
 */
import { spawnSync } from 'node:child_process';
import { Random } from '../../src/testing/random.ts';
import { workerFlags } from './main.ts';
import { namespace, startsAt } from './plan/draw-ats.ts';
import { drawTrouble } from './plan/draw-faults.ts';
import { drawPlan } from './plan/draw-plan.ts';
import { drawApp } from './plan/draw-watchers.ts';
import { faultFeatures } from './plan/features.ts';
import type { Deed, FaultPlan, Plan } from './plan/plan.ts';
import { Run, runPlan } from './run/run.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

if (!workerFlags.every((flag) => process.execArgv.includes(flag))) {
  const args = [...workerFlags, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)];
  process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
}

const [which = 'all', seconds = '20'] = process.argv.slice(2);

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

interface Done {
  /** Simulated ms. */
  readonly elapsed: number;
  readonly requests: number;
}

/** Works for so many CPU-seconds. */
async function measure(done: () => Done, work: () => Promise<void>): Promise<string> {
  const [before, begun] = [done(), cpuSeconds()];
  while (cpuSeconds() - begun < Number(seconds)) await work();
  const [after, cpu] = [done(), cpuSeconds() - begun];
  const days = (((after.elapsed - before.elapsed) / day / cpu) * 60).toFixed(1);
  const requests = Math.round((after.requests - before.requests) / cpu);
  return `${days} days per CPU-minute, ${requests} requests per CPU-second`;
}

async function print(name: string, done: () => Done, work: () => Promise<void>): Promise<void> {
  const cold = await measure(done, work);
  const warm = await measure(done, work);
  const mib = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
  console.log(`${name}: ${warm}, ${mib} MiB (in its first ${seconds} CPU-seconds: ${cold})`);
}

interface Setting {
  readonly replicas: number;
  readonly election: boolean;
  readonly duration: number;
  /** Every so many ms an At falls due, a ConfigMap is edited, and a fault strikes. */
  readonly period: number;
}

/** Removed CRDs would leave nothing to do, and clock steps add up. */
const ordinaryFaults = faultFeatures.filter((feature) => !/^(crd|clock-.*)$/.test(feature));

function atDeeds(name: string, dueAt: number): Deed[] {
  const spec = {
    schedule: new Date(startsAt + dueAt).toISOString(),
    command: 'job --for=1000 --exit=0',
    ttlSecondsAfterFinished: 600,
  };
  const object = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name, namespace },
    spec,
  };
  return [{ at: Math.max(1, dueAt - minute), do: 'create', resource: 'ats', name, object }];
}

/** Ten Ats and ten watched applications that are there all the time, and what happens in every period. */
function planOf({ replicas, election, duration, period }: Setting): Plan {
  const random = new Random('speed');
  const draw = { random, features: new Set(['at', 'watcher'] as const), duration };
  const names = Array.from({ length: 10 }, (_, index) => `${index}`);
  const standing = names.flatMap((name): Deed[] => [
    ...drawApp(`app-${name}`, draw),
    ...atDeeds(`waiting-${name}`, 3650 * day).map((deed) => ({ ...deed, at: 1 })),
  ]);
  const deeds: Deed[] = [];
  const faults: FaultPlan[] = [];
  for (let begin = period; begin + period < duration; begin += period) {
    const config = `app-${random.integer(10)}-config`;
    const message = `speed-good-${begin}`;
    deeds.push(...atDeeds(`at-${begin}`, begin + random.integer(period)), {
      at: begin,
      do: 'patch',
      resource: 'configmaps',
      name: config,
      body: { data: { message } },
    });
    const features = new Set([random.pick(ordinaryFaults)]);
    const own = { random: random.fork(`${begin}`), features, duration: period, replicas, servers: 2 };
    const trouble = drawTrouble({ ...own, election, moments: [], runs: [] });
    faults.push(...trouble.faults.map((fault) => ({ ...fault, at: begin + fault.at })));
  }
  return {
    ...{
      seed: 'speed',
      duration,
      replicas,
      election,
      servers: 2,
      features: [],
      deeds: [...standing, ...deeds],
    },
    ...{ clocks: Array.from({ length: replicas }, () => ({ skew: 0, drift: 0 })), faults },
  };
}

async function quiet(name: string, setting: Setting): Promise<void> {
  const run = new Run(planOf(setting));
  const { cluster, recorder, history } = run;
  await cluster.pass(10 * minute);
  const chunk = setting.election ? 10 * minute : 6 * hour;
  const done = () => ({ elapsed: cluster.simulation.elapsed, requests: recorder.requests });
  await print(name, done, () => cluster.pass(chunk));
  for (const { promise, text } of history.violations.slice(0, 3)) console.log(`  broken ${promise}: ${text}`);
}

/** The seeds of `make test`. */
async function busy(): Promise<void> {
  let [elapsed, requests, index] = [0, 0, 0];
  const work = async () => {
    const result = await runPlan(drawPlan(`fixed-${index++ % 60}`));
    elapsed += result.simulated;
    requests += result.requests;
  };
  await print('busy', () => ({ elapsed, requests }), work);
}

const isAsked = (name: string) => which === name || which === 'all';
const faulty = 'with faults';
if (isAsked('election')) {
  const setting = { replicas: 3, election: true, duration: 30 * day, period: hour };
  await quiet(`election of three replicas, ${faulty} every hour`, setting);
}
if (isAsked('alone')) {
  const setting = { replicas: 1, election: false, duration: 1000 * day, period: day };
  await quiet(`one replica without election, ${faulty} every day`, setting);
}
if (isAsked('busy')) await busy();
process.exit();
