/** Leadership: what simulations have found about replicas that lead, stand by, no longer lead, or work side by side. */
import { askingApp, askNoMore, at, fullQuota, minute, pod, podMeets, type Regression } from './parts.ts';

export const leadership: readonly Regression[] = [
  {
    sentence:
      'of two active replicas one had not seen that a workload asks for no ConfigWatcher any more: they made and deleted it without a pause',
    promise: 'R4',
    plan: {
      ...{ seed: 'row', duration: 2 * minute, replicas: 2, features: ['watcher-of-workload'] },
      deeds: [...askingApp(), askNoMore(70_000)],
      faults: [
        { at: 59_000, fault: 'watch-meets', resource: 'daemonsets', what: 'mute', times: 1 },
        { at: 60_000, fault: 'close-watches' },
      ],
    },
  },
  {
    sentence:
      'an At was resumed before anyone had seen it suspended, and its Pod refused: the other replica took all of the time since its creation for the delay of the operator',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx21qcb9-881', duration: 10 * minute, replicas: 3, election: false },
      clocks: [
        { skew: 50, drift: 0 },
        { skew: 900, drift: -0.0001 },
        { skew: 900, drift: -0.0001 },
      ],
      deeds: [
        pod('at-20-pod', 0),
        at('at-20', { schedule: '2024-01-01T00:02:50Z', disruptionPolicy: 'Retry' }, 494_515),
        { at: 574_739, do: 'patch', resource: 'ats', name: 'at-20', body: { spec: { cancel: true } } },
        at('at-18', { schedule: '2024-01-01T00:02:50Z', suspend: true }, 575_971),
        { at: 580_269, do: 'patch', resource: 'ats', name: 'at-18', body: { spec: { suspend: false } } },
      ],
      faults: [
        {
          ...{ at: 548_444, fault: 'aimed', on: 'At DONE Canceled', after: 50 },
          strike: {
            ...{ at: 506_042, fault: 'write-meets', method: 'POST', path: '/pods', skip: 0, times: 10 },
            answer: 422,
          },
        },
        { at: 570_452, fault: 'stale-cache', server: 0, for: 11_738 },
      ],
    },
  },
  {
    sentence:
      'a standby forgot its own launch as soon as it was made: it led, its caches had never shown the Pod, and it ran a second time',
    promise: 'S1',
    plan: {
      ...{ duration: 2 * minute, replicas: 2, election: true },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:51Z', command: 'job --for=100000' }),
        podMeets(60_000, 'force-delete'),
      ],
      faults: [
        { at: 50_000, fault: 'sigstop', replica: 0, for: minute },
        { at: 50_100, fault: 'watch-meets', resource: 'pods', what: 'mute', times: 1 },
        { at: 50_200, fault: 'close-watches' },
        { at: 61_000, fault: 'compact' },
        { at: 61_100, fault: 'close-watches' },
      ],
    },
  },
  {
    sentence:
      'a candidate that was cut off while another one took the Lease found it deleted, and led at once by the record that it had seen long ago',
    promise: 'S11',
    plan: {
      ...{ duration: 2 * minute, replicas: 3, election: true },
      deeds: [at('at-0', { schedule: '2024-01-01T00:01:06Z' })],
      faults: [
        { at: 20_000, fault: 'partition', replica: 1, direction: 'both', for: 41_000 },
        { at: 21_000, fault: 'kill', replica: 0, for: 90_000 },
        {
          ...{ at: 60_500, fault: 'write-meets', method: 'PUT', path: '/leases/', skip: 0, times: 3 },
          answer: 'hang',
        },
        { at: 61_000, fault: 'lease-deleted' },
      ],
    },
  },
  {
    sentence:
      'a standby had read that an At is gone, forgot it when it became the leader, and launched the At that its stale cache showed',
    promise: 'S3',
    plan: {
      ...{ seed: 'mwtc1d9n-1109', duration: 10 * minute, replicas: 2, election: true },
      deeds: [
        at(
          'at-12',
          {
            ...{
              schedule: '2024-01-01T00:01:51.479Z',
              command: 'job --for=400000 --on-term=0',
              backoffLimit: 0,
            },
            ttlSecondsAfterFinished: 60,
          },
          79_423,
        ),
        {
          ...{ at: 112_596, do: 'patch', resource: 'ats', name: 'at-12', subresource: 'status' },
          body: { status: { phase: 'DONE', outcome: 'Succeeded' } },
        },
        { at: 114_590, do: 'delete', resource: 'ats', name: 'at-12', propagation: 'Background' },
      ],
      faults: [
        { at: 56_863, fault: 'lease-stolen' },
        { at: 79_453, fault: 'server-down', server: 0, for: 24_698 },
        { at: 94_048, fault: 'stale-cache', server: 0, for: 38_484 },
        { at: 113_290, fault: 'kill', replica: 0, for: 10 },
      ],
    },
  },
  {
    sentence:
      'the clock of a leader was set back while its machine slept: neither of its clocks told that its lease had run out',
    promise: 'S11',
    plan: {
      ...{ seed: 'mwtc1d9n-1265', duration: 2 * minute, replicas: 2, election: true },
      deeds: [
        at(
          'at-9',
          {
            ...{ schedule: '2024-01-01T00:01:30.809Z', image: 'absent', pendingTimeoutSeconds: 0 },
            template: { spec: { nodeSelector: { tape: 'yes' } } },
          },
          0,
        ),
      ],
      faults: [
        { at: 91_811, fault: 'suspend', replica: 0, for: 28_189 },
        { at: 110_858, fault: 'clock-step', replica: 0, by: -3_600_000 },
      ],
    },
  },
  {
    sentence:
      'a replica that met the Pod of another one could not read the At after it, and forgot the Pod: once both were deleted, it ran again',
    promise: 'S1',
    plan: {
      ...{ seed: 'a', duration: 1.5 * minute, replicas: 2 },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:30Z', command: 'job --for=0' }),
        { at: 38_000, do: 'delete', resource: 'ats', name: 'at-0' },
      ],
      faults: [
        { at: 23_900, fault: 'watch-meets', resource: 'pods', what: 'mute', times: 1 },
        {
          ...{ at: 23_900, fault: 'refuse', method: 'GET', path: '/ats', code: 403, for: 20_000 },
          message: 'the operator cannot do that',
        },
        { at: 24_000, fault: 'close-watches' },
        { at: 29_900, fault: 'sigstop', replica: 0, for: 1500 },
      ],
    },
  },
  {
    sentence:
      'a replica whose connection had been dead launched by an edit from minutes ago that had been taken back since, and was shown next',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx1oisk2-4395', duration: 6 * minute, replicas: 3, servers: 2 },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:02:01.633Z', suspend: true }, 0),
        at('at-6', { schedule: '2024-01-01T00:02:01.633Z', startingDeadlineSeconds: 1 }, 90_525),
        { at: 123_440, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { suspend: false } } },
        { at: 126_241, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { suspend: true } } },
      ],
      faults: [
        fullQuota(93_213, 75_000),
        { at: 120_599, fault: 'server-down', server: 0, for: 18_876 },
        { at: 121_636, fault: 'half-open', replica: 1 },
        { at: 122_380, fault: 'server-down', server: 1, for: 3244 },
      ],
    },
  },
];
