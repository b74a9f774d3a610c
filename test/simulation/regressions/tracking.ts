/** Tracking: what simulations have found about the gate and the finalizer of ExactlyOnce. */
import { at, minute, type Regression } from './parts.ts';

const due = '2024-01-01T00:09:21Z';

export const tracking: readonly Regression[] = [
  {
    sentence:
      'the releases of a gated Pod that a quota had held up before were not answered, and the Event blamed the operator for that',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx0h12s3-531', duration: 2 * minute },
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z', launchGuarantee: 'ExactlyOnce' })],
      faults: [
        {
          ...{ at: 29_000, fault: 'refuse', method: 'POST', path: '/pods', code: 403, for: 50_000 },
          message: 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7',
        },
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
];
