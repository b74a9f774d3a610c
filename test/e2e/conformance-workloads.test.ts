/** The real controllers and the real node do what the simulated ones do. */
import { describe, it } from 'node:test';
import { availabilityRows } from '../conformance/availability.ts';
import { garbageRows } from '../conformance/garbage.ts';
import { nodeRows } from '../conformance/nodes.ts';
import { workloadRows } from '../conformance/workloads.ts';
import { clusterSubject, connectToCluster } from './cluster-subject.ts';

describe('the real controllers and node do what the simulated ones do', { concurrency: 6 }, () => {
  const client = connectToCluster();
  for (const { title, run } of [...workloadRows, ...availabilityRows, ...garbageRows, ...nodeRows]) {
    it(title, async (t) => run(await clusterSubject(t, client)));
  }
});
