/** Leadership: what simulations have found about replicas that lead, stand by, or no longer lead. */
import { at, minute, type Regression } from './parts.ts';

export const leadership: readonly Regression[] = [
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
];
