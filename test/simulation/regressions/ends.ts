/** Ends: what simulations have found about how a run is said to have ended. */
import { at, minute, podMeets, type Regression } from './parts.ts';

/** Of a command that is not started again, beside a native sidecar that takes 25 s to end. */
const spec = {
  ...{ schedule: '2024-01-01T00:00:30Z', backoffLimit: 0, disruptionPolicy: 'Retry' },
  template: {
    spec: {
      terminationGracePeriodSeconds: 30,
      initContainers: [
        {
          ...{ name: 'helper', image: 'helper', restartPolicy: 'Always' },
          command: ['serve', '--ends-in=25000'],
        },
      ],
    },
  },
};

export const ends: readonly Regression[] = [
  {
    sentence:
      'a command failed nine seconds before its Pod was evicted, its sidecar ended last, and the At was said to be lost',
    promise: 'R1',
    plan: {
      duration: 3 * minute,
      deeds: [at('at-0', { ...spec, command: 'job --for=1000 --exit=3' }), podMeets(41_000, 'evict')],
    },
  },
  {
    sentence:
      'a Pod was deleted in mid-run and its sidecar ended last: by the date of the last DELETE its command had failed long before, and it was not repeated',
    promise: 'R1',
    plan: {
      duration: 3 * minute,
      deeds: [at('at-0', { ...spec, command: 'job --for=100000 --on-term=2' }), podMeets(41_000, 'delete')],
    },
  },
];
