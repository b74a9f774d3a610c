/** Tracking: what simulations have found about the gate, the finalizer and the label of Pods. */
import { at, fullQuota, minute, type Regression } from './parts.ts';

const due = '2024-01-01T00:09:21Z';

/** An image that is not there, beside a sidecar. */
const beside = {
  ...{ image: 'absent', command: 'job --for=60000' },
  template: {
    spec: {
      initContainers: [{ name: 'helper', image: 'helper', command: ['serve'], restartPolicy: 'Always' }],
    },
  },
};

export const tracking: readonly Regression[] = [
  {
    sentence:
      'the releases of a gated Pod that a quota had held up before were not answered, and the Event blamed the operator for that',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx0h12s3-531', duration: 2 * minute },
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z', launchGuarantee: 'ExactlyOnce' })],
      faults: [
        fullQuota(29_000, 50_000),
        {
          ...{ at: 60_000, fault: 'write-meets', method: 'PATCH', path: '/pods/', skip: 0, times: 2 },
          answer: 'hang',
        },
      ],
    },
  },
  {
    sentence:
      'two active replicas had no answers to their releases of a Pod, and one took the later record of the other one for the begin of its own delay',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx0nx907-459', duration: 10 * minute, replicas: 2 },
      deeds: [
        at('at-21', { schedule: due, launchGuarantee: 'ExactlyOnce' }, 0),
        at(
          'at-22',
          { schedule: '2024-01-01T02:09:21.152', timeZone: 'Africa/Cairo', launchGuarantee: 'ExactlyOnce' },
          0,
        ),
        at('at-23', { schedule: due }, 0),
        at(
          'at-12',
          {
            schedule: due,
            command: 'job --for=20000 --exit=0 --fails=0 c4nary-command',
            launchGuarantee: 'AtMostOnce',
          },
          599_746,
        ),
      ],
      faults: [
        {
          ...{ at: 106_987, fault: 'kill-at-write', replica: 0, method: 'POST', path: '/pods', skip: 1 },
          ...{ for: 15_942, when: 'before' },
        },
        {
          ...{ at: 475_270, fault: 'write-meets', method: 'PATCH', path: '/pods/', skip: 2, times: 10 },
          answer: 'hang',
        },
        {
          ...{ at: 560_987, fault: 'refuse', method: '', path: '/pods', code: 403, for: 39_013 },
          message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
        },
        { at: 569_870, fault: 'server-down', server: 0, for: 30_130 },
      ],
    },
  },
  {
    sentence:
      'the Pod of an At lost the label by which it is watched just before the watch showed that its end was recorded: the finalizer stayed',
    promise: 'L7',
    plan: {
      ...{ seed: 'mx0ivzec-1484', duration: 10 * minute, election: true },
      deeds: [
        at(
          'at-1',
          {
            ...{
              schedule: '2024-01-01T00:09:26.844Z',
              command: 'job --for=60000',
              launchGuarantee: 'ExactlyOnce',
            },
            ...{ backoffLimit: 0, suspend: true, image: 'absent' },
          },
          0,
        ),
        { at: 567_192, do: 'patch', resource: 'ats', name: 'at-1', body: { spec: { suspend: false } } },
        { at: 568_742, do: 'patch', resource: 'ats', name: 'at-1', body: { spec: { cancel: true } } },
        { at: 593_805, do: 'pod', label: ['app', 'at-1'], index: 1, what: 'strip-label' },
      ],
      faults: [
        { at: 430_100, fault: 'half-open', replica: 0 },
        { at: 570_226, fault: 'half-open', replica: 0 },
      ],
    },
  },
  {
    sentence:
      'the Pod of an earlier attempt had waited for a node as it was evicted, and the history called it lost',
    promise: 'R1',
    plan: {
      ...{ seed: 'mx0r0typ-8625', duration: 5 * minute, election: true },
      deeds: [
        at(
          'at-26',
          {
            ...{ schedule: '2024-01-01T00:02:15.011Z', command: 'job --for=400000 --fails=1', suspend: true },
            ...{ disruptionPolicy: 'Retry', launchGuarantee: 'ExactlyOnce', activeDeadlineSeconds: 30 },
            ...{ image: 'absent', template: { spec: { nodeSelector: { tape: 'yes' } } } },
          },
          217_054,
        ),
        { at: 236_155, do: 'patch', resource: 'ats', name: 'at-26', body: { spec: { suspend: false } } },
        { at: 247_711, do: 'pod', label: ['app', 'at-26'], index: 1, what: 'evict' },
      ],
      faults: [
        { at: 244_966, fault: 'half-open', replica: 0 },
        { at: 296_001, fault: 'kill', replica: 0, for: 3658 },
      ],
    },
  },
  {
    sentence:
      'a Pod without the label was stopped, with the cause in status already: no look followed, and its end was found at the deadline of the stop',
    promise: 'L2',
    plan: {
      ...{ seed: 'mx0r0typ-7473', duration: 2 * minute },
      deeds: [
        at('at-13', { ...beside, schedule: '2024-01-01T00:00:40.278Z', suspend: true }, 0),
        { at: 6790, do: 'patch', resource: 'ats', name: 'at-13', body: { spec: { suspend: false } } },
        { at: 87_839, do: 'patch', resource: 'ats', name: 'at-13', body: { spec: { cancel: true } } },
        at('at-27', { ...beside, schedule: '2024-01-01T00:00:40.278Z', suspend: true }, 114_560),
        { at: 118_993, do: 'patch', resource: 'ats', name: 'at-27', body: { spec: { suspend: false } } },
        { at: 119_554, do: 'patch', resource: 'ats', name: 'at-27', body: { spec: { cancel: true } } },
        { at: 151_232, do: 'pod', label: ['app', 'at-27'], index: 0, what: 'strip-label' },
      ],
      faults: [
        {
          ...{ at: 58_172, fault: 'write-meets', method: 'PATCH', path: '/pods/', skip: 1, times: 1 },
          answer: 403,
        },
        {
          ...{ at: 61_535, fault: 'kill-at-write', replica: 0, method: 'PATCH', path: '/pods/', skip: 1 },
          ...{ for: 44_055, when: 'before' },
        },
      ],
    },
  },
];
