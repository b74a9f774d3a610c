/** Launches: what simulations have found about the Pods of Ats, and what is told of them. */
import type { Deed, Plan } from '../plan/plan.ts';
import { at, fullQuota, minute, pod, podMeets, type Regression } from './parts.ts';

/** Two active replicas launch an At, and may not write that for half a minute. */
const unrecordedLaunch: Partial<Plan> = {
  ...{ duration: 2 * minute, replicas: 2 },
  faults: [
    {
      ...{ at: 29_000, fault: 'refuse', method: 'PATCH', path: '/ats', code: 403, for: 30_000 },
      message: 'the operator cannot do that',
    },
  ],
};
const longRun = at('at-0', { schedule: '2024-01-01T00:00:30Z', command: 'job --for=100000' });

/** Runs for longer than anything here lasts, again and again. */
const longRetry = {
  ...{ command: 'job --for=400000', disruptionPolicy: 'Retry' },
  template: { spec: { terminationGracePeriodSeconds: 1 } },
};

export const launches: readonly Regression[] = [
  {
    sentence:
      'a machine with a clock that is behind was suspended: the start that it saw next had the time of that clock',
    promise: 'R1',
    plan: {
      ...{ duration: 2 * minute, clocks: [{ skew: -minute, drift: 0.0001 }] },
      deeds: [at('at-0', { command: 'job --for=400000', activeDeadlineSeconds: 300 }, 91_975)],
      faults: [{ at: 92_136, fault: 'suspend', replica: 0, for: 1641 }],
    },
  },
  {
    sentence:
      'a clock that is behind: lateness had fractions of a millisecond, and the API server took no status of a launch',
    promise: 'R2',
    plan: {
      clocks: [{ skew: -2000, drift: -0.0001 }],
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z' }, 1000)],
    },
  },
  {
    sentence:
      'an At was deleted without its Pod: the Pod was deleted from an old view in which it was its own',
    promise: 'S10',
    plan: {
      seed: 'mwsr6fq6-398',
      duration: 2 * minute,
      deeds: [
        at('at-0', {
          ...{ schedule: '2024-01-01T00:00:35.749Z', command: 'job --for=120000 --exit=3 --fails=1' },
          ...{ backoffLimit: 6, launchGuarantee: 'ExactlyOnce', activeDeadlineSeconds: 1 },
        }),
        { at: 77_000, do: 'delete', resource: 'ats', name: 'at-0', propagation: 'Orphan' },
      ],
      faults: [{ at: 66_875, fault: 'stale-cache', server: 0, for: 53_125 }],
    },
  },
  {
    sentence:
      'a replica whose connection was dead met an At that another one had launched long ago, and launched it again',
    promise: 'R1',
    plan: {
      ...{ seed: 'mwsr6fq6-52', duration: 30 * minute, replicas: 2 },
      deeds: [
        at('at-31', { schedule: '2024-01-01T00:19:09.4090001Z', image: 'absent' }, 1_077_475),
        at(
          'at-23',
          { schedule: '2024-01-01T00:19:09.409Z', command: 'job --for=0', backoffLimit: 0 },
          1_108_168,
        ),
      ],
      faults: [
        { at: 1_077_477, fault: 'half-open', replica: 0 },
        { at: 1_149_460, fault: 'crd-removed', resource: 'ats', for: 3782 },
      ],
    },
  },
  {
    sentence:
      'after a quota was lifted, each turn went to an At whose name a stranger has, and the one that could run waited behind them',
    promise: 'L1',
    plan: {
      ...{ seed: 'mwtdirty-965', duration: 5 * minute },
      deeds: [
        pod('at-10-pod', 0),
        pod('at-20-pod', 0),
        pod('at-40-pod', 0),
        pod('at-42-pod', 222_389),
        at('at-10', { schedule: '2024-01-01T00:01:47.014Z', launchGuarantee: 'ExactlyOnce' }, 0),
        at('at-40', { schedule: '2024-01-01T00:01:47.014Z', image: 'absent' }, 54_862),
        at('at-20', { schedule: '2024-01-01T00:02:24.974Z', suspend: true }, 255_031),
        at('at-24', { backoffLimit: 1, pendingTimeoutSeconds: 60 }, 267_211),
        { at: 270_431, do: 'patch', resource: 'ats', name: 'at-20', body: { spec: { suspend: false } } },
        at('at-42', { launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' }, 282_390),
      ],
      faults: [fullQuota(258_329, 41_671)],
    },
  },
  {
    sentence:
      'a replica saw the Pod of another one run and go away before a status recorded it, and ran it a second time',
    promise: 'S1',
    plan: { ...unrecordedLaunch, deeds: [longRun, podMeets(44_000, 'force-delete')] },
  },
  {
    sentence:
      'a user wrote a podUID beside no attempt: the run counted as lost, and its Pod was created before the schedule',
    promise: 'S2',
    plan: {
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:50Z', disruptionPolicy: 'Retry' }),
        {
          ...{ at: 10_000, do: 'patch', resource: 'ats', name: 'at-0', subresource: 'status' },
          body: { status: { podUID: 'forged', reason: null } },
        },
      ],
    },
  },
  {
    sentence: 'a Pod was evicted and gone by the time of the next attempt, and history called it lost',
    promise: 'R1',
    plan: {
      duration: 3 * minute,
      deeds: [
        at('at-0', { disruptionPolicy: 'Retry', command: 'job --for=100000' }),
        podMeets(30_000, 'evict'),
      ],
    },
  },
  {
    sentence:
      'the owner of a running Pod was taken away before a status recorded it: it was taken for a foreign Pod, and run a second time',
    promise: 'S1',
    plan: {
      ...unrecordedLaunch,
      deeds: [longRun, podMeets(34_000, 'strip-owner'), podMeets(46_000, 'force-delete')],
    },
  },
  {
    sentence:
      'the caches stood still, and a replica had read the Pod of another one that went away before a status recorded it: it ran a second time',
    promise: 'S1',
    plan: {
      ...unrecordedLaunch,
      deeds: [longRun, podMeets(44_000, 'force-delete')],
      faults: [
        ...(unrecordedLaunch.faults ?? []),
        { at: 29_000, fault: 'stale-cache', server: 0, for: 40_000 },
      ],
    },
  },
  {
    sentence:
      'a Pod was made, run and deleted while the watch was silent, and the list that came then lacked it: its At ran for ever',
    promise: 'L2',
    plan: {
      duration: 4 * minute,
      deeds: [
        // It is started again and again, which Pods alone show, so that their watch is the last to come back.
        at('at-0', { command: 'job --for=5000 --exit=1' }),
        at('at-1', { schedule: '2024-01-01T00:00:30Z', command: 'job --for=600000' }),
        { at: 60_000, do: 'pod', label: ['app', 'at-1'], index: 0, what: 'delete' },
      ],
      faults: [
        { at: 20_000, fault: 'half-open', replica: 0 },
        { at: 65_000, fault: 'compact' },
      ],
    },
  },
  {
    sentence:
      'a replica was shown the end of a Pod before the At, by two API servers of which one was behind: the At ran again',
    promise: 'S1',
    plan: {
      ...{ seed: 'x-27', duration: 2 * minute, replicas: 2, servers: 2 },
      deeds: [
        at(
          'at-0',
          { schedule: '2024-01-01T00:00:30Z', command: 'job --for=2000', disruptionPolicy: 'Retry' },
          29_900,
        ),
        podMeets(35_000, 'force-delete'),
      ],
      faults: [
        { at: 10_000, fault: 'kill', replica: 1, for: 1000 },
        { at: 28_000, fault: 'stale-cache', server: 1, for: 25_000 },
      ],
    },
  },
  {
    sentence:
      'a standby launched again what another one had launched while it was cut off, and the next attempt ran beside that Pod',
    promise: 'S1',
    plan: {
      ...{ seed: 'x-0', duration: 2 * minute, replicas: 2, election: true },
      deeds: [
        at('at-0', {
          schedule: '2024-01-01T00:00:30Z',
          command: 'job --for=60000 --on-term=1',
          disruptionPolicy: 'Retry',
        }),
        podMeets(35_000, 'delete'),
      ],
      faults: [
        { at: 24_000, fault: 'kill', replica: 0, for: 1000 },
        { at: 29_500, fault: 'partition', replica: 1, for: 7000, direction: 'both' },
        { at: 30_500, fault: 'lease-deleted' },
      ],
    },
  },
  {
    sentence:
      'the watch stood still, so that a Pod of ExactlyOnce was recorded 5 s after its create only, when the status was refused for a while: LaunchedLate blamed the operator',
    promise: 'R2',
    plan: {
      duration: minute,
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:20Z', launchGuarantee: 'ExactlyOnce' })],
      faults: [
        { at: 18_000, fault: 'stale-cache', server: 0, for: 40_000 },
        {
          ...{ at: 19_000, fault: 'refuse', method: 'PATCH', path: '/ats/at-0/status', code: 403 },
          ...{ message: 'overloaded', for: 14_754 },
        },
      ],
    },
  },
  {
    sentence:
      'no status could be written, and a read showed that the Pod was gone before the watch did: the replica that had not created it did so again',
    promise: 'S1',
    plan: {
      ...{ seed: 'r-0', duration: minute, replicas: 2, servers: 2 },
      deeds: [
        at('at-0', {
          schedule: '2024-01-01T00:00:20Z',
          command: 'job --for=400000',
          disruptionPolicy: 'Retry',
          template: { spec: { terminationGracePeriodSeconds: 1 } },
        }),
        podMeets(35_000, 'delete'),
      ],
      faults: [
        {
          ...{ at: 15_000, fault: 'refuse', method: 'PATCH', path: '/status', code: 500 },
          ...{ message: 'overloaded', for: 40_000 },
        },
      ],
    },
  },
  {
    sentence:
      'a proxy answered a read with a 404 of its own, which was taken for the absence of the Pod: its run was called lost',
    promise: 'R5',
    plan: {
      ...{ seed: 'x-4', duration: 2 * minute, replicas: 2 },
      deeds: ['at-0', 'at-1', 'at-2', 'at-3', 'at-4', 'at-5'].map((name) =>
        at(name, {
          schedule: '2024-01-01T00:00:30Z',
          command: 'job --for=60000',
          launchGuarantee: 'ExactlyOnce',
        }),
      ),
      faults: [
        { at: 28_000, fault: 'half-open', replica: 1 },
        { at: 28_000, fault: 'bad-network', replica: 1, kind: 'page', rate: 0.3, for: minute },
      ],
    },
  },
  {
    sentence: 'of an evicted Pod that was gone when the next leader came, the history said that it was lost',
    promise: 'R1',
    plan: {
      ...{ seed: 'x-0', duration: 2 * minute, replicas: 2, election: true },
      deeds: [
        at(
          'at-0',
          { disruptionPolicy: 'Retry', template: { spec: { nodeSelector: { tape: 'yes' } } } },
          10_000,
        ),
        podMeets(62_000, 'evict'),
      ],
      faults: [{ at: 60_000, fault: 'lease-stolen' }],
    },
  },
  {
    sentence:
      'a gated Pod that was evicted while no operator was there was called lost, although it said why',
    promise: 'R1',
    plan: {
      ...{ seed: 'x-0', duration: 2 * minute, election: true },
      deeds: [at('at-0', { launchGuarantee: 'ExactlyOnce' }, 60_000), podMeets(60_900, 'evict')],
      faults: [
        {
          ...{ at: 59_000, fault: 'kill-at-write', replica: 0, method: 'PATCH', path: '/pods/', skip: 0 },
          ...{ for: 200, when: 'before' },
        },
      ],
    },
  },
  {
    sentence:
      'a machine was suspended between a create and its answer, whose instant by a late clock it took for the launch',
    promise: 'R1',
    plan: {
      duration: 5 * minute,
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z', command: 'job --for=200000' })],
      faults: [
        { at: 29_000, fault: 'partition', replica: 0, direction: 'both', for: minute },
        { at: 31_000, fault: 'suspend', replica: 0, for: 130_000 },
      ],
    },
  },
  {
    sentence:
      'a held Pod that was evicted before it had a node, while no operator was there, was called lost',
    promise: 'R1',
    plan: {
      ...{ seed: 'x-0', duration: 3 * minute, election: true },
      deeds: [
        at(
          'at-0',
          {
            ...{ launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' },
            template: { spec: { nodeSelector: { tape: 'absent' } } },
          },
          30_000,
        ),
        podMeets(42_000, 'evict'),
      ],
      faults: [{ at: 34_000, fault: 'lease-stolen' }],
    },
  },
  {
    sentence:
      'Ats that were suspended while their creates were refused kept their turns, and each cost one that could run ten seconds',
    promise: 'L1',
    plan: {
      ...{ seed: 's', duration: 4 * minute },
      deeds: [
        at('good', {}, 50),
        ...[0, 1, 2, 3, 4, 5, 6].map((index) => at(`at-${index}`, {}, 1 + index * 100)),
        ...[0, 1, 2, 3, 4, 5, 6].map(
          (index): Deed => ({
            ...{ at: 66_000, do: 'patch', resource: 'ats', name: `at-${index}` },
            body: { spec: { suspend: true } },
          }),
        ),
      ],
      faults: [
        {
          ...{ at: 1, fault: 'refuse', method: 'POST', path: '/pods', code: 500, for: 72_000 },
          message: 'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
        },
      ],
    },
  },
  {
    sentence: 'a Pod that a late create brought back while the watch was down ran beside the next attempt',
    promise: 'S1',
    plan: {
      ...{ seed: 'mwxmqpnp-1381', duration: 5 * minute },
      deeds: [at('at-0', longRetry, 80_000), podMeets(96_000, 'evict')],
      faults: [
        // Longer pauses between the tries of the watch.
        { at: 20_000, fault: 'server-down', server: 0, for: 30_000 },
        { at: 79_000, fault: 'send-meets', method: 'POST', path: '/pods', skip: 0, late: 30_000 },
        { at: 96_050, fault: 'server-down', server: 0, for: 2000 },
      ],
    },
  },
  {
    sentence:
      'Ats whose names strangers have took turns of ten seconds each among those that a webhook had refused',
    promise: 'L1',
    plan: {
      ...{ seed: 'x-0', duration: 5 * minute },
      deeds: [
        ...Array.from({ length: 14 }, (_, index) => [
          pod(`at-${index}-pod`),
          at(`at-${index}`, {}, 10),
        ]).flat(),
        ...[62_000, 75_000, 90_000, 110_000].map((when, index) => at(`good-${index}`, {}, when)),
      ],
      faults: [
        {
          ...{ at: minute, fault: 'refuse', method: 'POST', path: '/pods', code: 500, for: 67_000 },
          message: 'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
        },
      ],
    },
  },
  {
    sentence:
      'a replica that was stopped between its reads of an At and its Pod made a Pod again that had run and was gone',
    promise: 'S1',
    plan: {
      ...{ seed: 'x-14', duration: 3 * minute, replicas: 2 },
      deeds: [at('at-0', longRetry, 30_000), podMeets(46_000, 'delete')],
      faults: [
        {
          ...{ at: 29_000, fault: 'aimed', on: 'At RUNNING Launched', after: 0 },
          strike: { at: 0, fault: 'sigstop', replica: 1, for: 31_910 },
        },
      ],
    },
  },
  {
    sentence:
      'the owner of a Pod was taken away as it was evicted: the eviction that a read had shown was not recorded, and the At ended as PodLost',
    promise: 'R1',
    plan: {
      ...{ seed: 'x-0', duration: 2 * minute, replicas: 3 },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:01:06Z', image: 'absent' }, 0),
        podMeets(67_000, 'strip-owner'),
        podMeets(67_000, 'evict'),
      ],
      faults: [{ at: 3845, fault: 'stale-cache', server: 0, for: 80_000 }],
    },
  },
  {
    sentence:
      'a read had shown that the Pod succeeded while statuses were refused and the watch showed nothing; once the Pod was gone its end was lost',
    promise: 'R1',
    plan: {
      ...{ seed: 'x-0', duration: 2 * minute, replicas: 2 },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:44Z', command: 'job --for=10' }, 0),
        podMeets(60_000, 'delete'),
      ],
      faults: [
        { at: 15_779, fault: 'stale-cache', server: 0, for: 104_221 },
        {
          ...{ at: 42_959, fault: 'refuse', method: 'PATCH', path: '/ats/at-0/status', code: 500 },
          ...{ message: 'overloaded', for: 13_252 },
        },
      ],
    },
  },
  {
    sentence:
      'one of two active replicas noted that a Pod had not started in time and deleted it; the other one, whose time was behind, took the note back, and the next attempt waited for a name',
    promise: 'L9',
    plan: {
      ...{ seed: 's-5', duration: 6 * minute, replicas: 2 },
      clocks: [
        { skew: -2000, drift: 0.0001 },
        { skew: -50, drift: -0.0001 },
      ],
      deeds: [
        pod('at-0-pod-2', 0),
        at(
          'at-0',
          { suspend: true, image: 'absent', disruptionPolicy: 'Retry', pendingTimeoutSeconds: 1 },
          0,
        ),
        { at: 30_841, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { suspend: false } } },
      ],
    },
  },
  {
    sentence:
      'what came after the error that ended a watch counted as shown, so that an At seemed to run after it was seen to be gone',
    promise: 'S3',
    plan: {
      seed: 'row',
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:40Z' }),
        { at: 21_000, do: 'delete', resource: 'ats', name: 'at-0' },
        at('at-0', { schedule: '2024-01-01T00:00:40Z' }, 22_000),
      ],
      faults: [
        { at: 20_000, fault: 'watch-meets', resource: 'ats', what: 'in-stream-410', times: 8 },
        { at: 20_000, fault: 'partition', replica: 0, for: 8000, direction: 'both' },
        { at: 20_500, fault: 'close-watches' },
      ],
    },
  },
];
