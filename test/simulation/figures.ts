/** Figures: what many runs come to, and the table of states and faults that they have reached. */
import type { Exercise } from './history.ts';
import type { FaultPlan } from './plan/plan.ts';
import { grantedRights } from './rights.ts';
import type { RunResult } from './run/run.ts';
import { states } from './states.ts';

/** What a run's process tells of it, as one line of JSON. */
export interface RunReport {
  readonly seed: string;
  /** CPU time of the run, ms. */
  readonly cpu: number;
  readonly simulated: number;
  readonly requests: number;
  readonly cells: readonly (readonly [string, number])[];
  readonly exercises: readonly Exercise[];
  /** Promise, clue and sentence of the first news. */
  readonly news: { readonly promise: string; readonly clue: string; readonly text: string } | undefined;
  readonly traceHash: string;
  readonly rights: readonly string[];
}

export function reportOf({ plan, cells, violations, rights, ...result }: RunResult, cpu: number): RunReport {
  const [first] = violations;
  const { simulated, requests, traceHash, exercises } = result;
  const news = first && { promise: first.promise, clue: first.clue, text: first.text };
  const figures = { cpu, simulated, requests, exercises, cells: [...cells], rights: [...rights] };
  return { seed: plan.seed, ...figures, news, traceHash };
}

const day = 86_400_000;
/** Ms of CPU time after which each cell of the table is to be reached. */
const reachedWithin = 3_600_000;

export class Figures {
  runs = 0;
  cpu = 0;
  simulated = 0;
  requests = 0;
  readonly cells = new Map<string, number>();
  readonly rights = new Set<string>();
  readonly #exercises: Exercise[] = [];

  add({ cpu, simulated, requests, cells, rights, exercises }: RunReport): void {
    this.runs += 1;
    this.cpu += cpu;
    this.simulated += simulated;
    this.requests += requests;
    for (const right of rights) this.rights.add(right);
    // Every run has the same promises, in the same order.
    for (const [index, { count, ...promise }] of exercises.entries()) {
      const before = this.#exercises[index]?.count ?? 0;
      this.#exercises[index] = { ...promise, count: before + count };
    }
    for (const [cell, count] of cells) this.cells.set(cell, (this.cells.get(cell) ?? 0) + count);
  }

  text(): string {
    const minutes = this.cpu / 60_000;
    return [
      `${this.runs} runs, ${(this.simulated / day).toFixed(2)} simulated days in ${(this.cpu / 1000).toFixed(0)} CPU-seconds:`,
      `  ${(this.simulated / day / minutes).toFixed(2)} days per CPU-minute, ${Math.round(this.requests / (this.cpu / 1000))} requests per CPU-second`,
      ...this.#unused(),
    ].join('\n');
  }

  /** S13 in the other direction: what is granted and no run has used. Few runs use all there is. */
  #unused(): string[] {
    const unused = [...grantedRights()].filter((right) => !this.rights.has(right));
    return unused.length === 0 ? [] : [`  granted and not used: ${unused.sort().join(', ')}`];
  }

  /** How often each promise was about something, rather than kept because nothing of the kind happened. */
  promises(): string {
    return this.#exercises
      .map(({ name, sentence, count }) => `${String(count).padStart(9)} ${name.padEnd(3)} ${sentence}`)
      .join('\n');
  }

  /** Promises that no run was about: nothing is known of them. */
  get idle(): readonly string[] {
    return this.#exercises
      .filter(({ count }) => count === 0)
      .map(({ name, sentence }) => `${name}: ${sentence}`);
  }

  /** One row per state, one column per fault; a dot is a cell that no run has reached. */
  table(): string {
    const pairs = [...this.cells.keys()].map((cell) => cell.split(' × '));
    const axis = (expected: readonly string[], index: number) =>
      [...new Set([...expected, ...pairs.map((pair) => pair[index] ?? '')])].sort();
    const [states, faults] = [axis(expectedStates, 0), axis(expectedFaults, 1)];
    const width = Math.max(...states.map((state) => state.length));
    const legend = faults.map((fault, index) => `${letterOf(index)} ${fault}`);
    const head = `${' '.repeat(width)} ${faults.map((_, index) => letterOf(index)).join('')}`;
    const rows = states.map((state) => {
      const row = faults.map((fault) => digitOf(this.cells.get(`${state} × ${fault}`) ?? 0)).join('');
      return `${state.padEnd(width)} ${row}`;
    });
    const { unreached, isLong } = this;
    return [
      ...legend,
      '',
      head,
      ...rows,
      '',
      `${unreached.length} of ${expectedCells.length} cells were not reached`,
      ...(isLong || unreached.length <= 25 ? unreached.map((cell) => `  ${cell}`) : []),
    ].join('\n');
  }

  /** Of the cells that there should be, as `state × fault`; what else was seen is in the table, too. */
  get unreached(): readonly string[] {
    return expectedCells.filter((cell) => !this.cells.has(cell));
  }

  /** Whether there was time to reach each cell: one that was not is a defect of the simulator. */
  get isLong(): boolean {
    return this.cpu > reachedWithin;
  }
}

function letterOf(index: number): string {
  return 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[index] ?? '?';
}

/** The order of magnitude: 1 is once to nine times. */
function digitOf(count: number): string {
  return count === 0 ? '.' : String(String(count).length);
}

/** All states that an object may be in. */
const expectedStates = states.map(({ row }) => row);

/** All kinds of faults of a plan; one that is aimed is of the kind that strikes. */
const faultKinds: Readonly<Record<Exclude<FaultPlan['fault'], 'aimed'>, true>> = {
  ...{ kill: true, terminate: true, sigstop: true, suspend: true, 'clock-step': true },
  ...{ partition: true, reset: true, 'half-open': true, 'bad-network': true },
  ...{ 'kill-at-write': true, 'write-meets': true, 'send-meets': true, 'watch-meets': true },
  ...{ refuse: true, 'pod-quota': true, restricted: true, seats: true },
  ...{ 'stale-cache': true, 'slow-cache': true, 'server-down': true },
  ...{ compact: true, 'close-watches': true, 'lease-deleted': true, 'lease-stolen': true },
  ...{ 'crd-removed': true, 'namespace-deleted': true },
  ...{ 'node-clock': true, 'node-off': true, drain: true },
};

export const expectedFaults: readonly string[] = ['no fault', ...Object.keys(faultKinds)];

const expectedCells = expectedStates.flatMap((state) => expectedFaults.map((fault) => `${state} × ${fault}`));
