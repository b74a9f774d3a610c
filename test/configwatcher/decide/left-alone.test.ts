/** Pods that keep an old content: what a watcher says of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Decision, Observed } from '../../../src/configwatcher/decide/observed.ts';
import {
  afterwards,
  barePod,
  decided,
  newContent,
  newestContent,
  pod,
  specOf,
} from '../../fixtures/configwatcher.ts';

const job = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'job', controller: true };
const atOnce = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });

function edited(overrides: Partial<Observed>): Partial<Observed> {
  return { spec: atOnce, sources: [newContent], owners: new Map(), ...overrides };
}

function progressing({ state }: Decision): string | undefined {
  const { status, message } = state.conditions.find(({ type }) => type === 'Progressing') ?? {};
  return `${status}: ${message}`;
}

describe('Pods that a restart leaves alone', () => {
  const upToDate = 'False: the Pods run with the content of now';
  const pods = [barePod({ name: 'bare' }), pod({ name: 'job-1', controller: job })];

  it('are named by Progressing, also when nobody looks at Pods any more', () => {
    const facts = edited({ pods });
    const done = decided(facts);
    const except = `${upToDate}, except 2 Pods that the last restart left alone`;
    assert.equal(progressing(done), `${except}: bare, job-1`);
    const { pods: _, ...later } = afterwards(facts, done, 60_000);
    assert.equal(progressing(decided(later)), `${except}: bare, job-1`);
    const state = { ...done.state, conditions: [] };
    assert.equal(progressing(decided({ ...later, state })), except, 'by a status that has lost the names');
  });

  it('are named by an Event, with the reason of each', () => {
    const notes = (names: string[]) => {
      const { events, skippedOfJobs } = decided(
        edited({ pods: pods.filter(({ name }) => names.includes(name)) }),
      );
      const note = events.find(({ reason }) => reason === 'UnmanagedPodSkipped')?.note;
      return [note, skippedOfJobs];
    };
    const bare = 'left alone, because no controller would replace them: bare';
    const ofJob = 'left alone, because strategy.jobPods is Skip: job-1';
    assert.deepEqual(notes(['bare']), [bare, 0]);
    assert.deepEqual(notes(['job-1']), [ofJob, 1]);
    assert.deepEqual(notes(['bare', 'job-1']), [`${bare}; ${ofJob}`, 1]);
  });

  it('are forgotten with the next restart that finds none', () => {
    const facts = edited({ pods });
    const next = { ...afterwards(facts, decided(facts), 60_000), sources: [newestContent], pods: [] };
    assert.equal(progressing(decided(next)), upToDate);
  });
});
