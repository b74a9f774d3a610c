/** The simulated controllers and nodes do what the rows ask of the real ones. */
import { describe, test } from 'node:test';
import { availabilityRows } from '../conformance/availability.ts';
import { garbageRows } from '../conformance/garbage.ts';
import { nodeRows } from '../conformance/nodes.ts';
import { workloadRows } from '../conformance/workloads.ts';
import { TestCluster } from './cluster.ts';
import { simulatedSubject } from './simulated-subject.ts';

describe('the simulated controllers and nodes do what the real ones do', () => {
  for (const seed of ['one', 'two', 'three']) {
    for (const { title, run } of [...workloadRows, ...availabilityRows, ...garbageRows, ...nodeRows]) {
      test(`${title} (seed ${seed})`, () => run(simulatedSubject(new TestCluster({ seed }))));
    }
  }
});
