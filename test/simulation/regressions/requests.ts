/** Requests: what simulations have found about requests that had no bound, or failed. */
import { byDeveloper, grant, revoke } from '../plan/draw-authors.ts';
import type { Deed, FaultPlan } from '../plan/plan.ts';
import {
  annotatedApp,
  at,
  configMap,
  edit,
  fullQuota,
  minute,
  pod,
  podMeets,
  type Regression,
  watcher,
} from './parts.ts';

const webhookDown = {
  ...{ at: 10_000, fault: 'refuse', method: 'POST', path: '/pods', code: 500, for: 50 },
  message: 'failed calling webhook',
} satisfies FaultPlan;

/** An edit of an At that changes nothing of its spec. */
function touch(name: string, when: number): Deed {
  const body = { metadata: { labels: { touched: 'true' } } };
  return { at: when, do: 'patch', resource: 'ats', name, body };
}

export const requests: readonly Regression[] = [
  {
    sentence:
      'the watch cache is stale, and a stranger has the name: read four times a second until it is not',
    promise: 'R4',
    plan: {
      replicas: 2,
      deeds: [pod('at-0-pod'), at('at-0', { schedule: '2024-01-01T00:16:04Z' }, 2 * minute)],
      faults: [{ at: 15 * minute, fault: 'stale-cache', server: 0, for: 2 * minute }],
    },
  },
  {
    sentence:
      'a create without an answer, and then a stranger has the name: read four times a second for ever',
    promise: 'R4',
    plan: { deeds: [at('at-0', {}, 10_001), pod('at-0-pod', 10_002)], faults: [webhookDown] },
  },
  {
    sentence:
      'creates were turned away by a busy API server, and each status that told of it met a conflict, as the watch cache lagged: each At was tried every second',
    promise: 'R4',
    plan: {
      duration: 2 * minute,
      deeds: ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((name) => [
        at(name, { schedule: '2024-01-01T00:00:30Z' }),
        touch(name, 29_500),
      ]),
      faults: [
        {
          ...{ at: 20_000, fault: 'refuse', method: 'POST', path: '/pods', code: 429, for: 60_000 },
          message: 'overloaded',
        },
        { at: 29_000, fault: 'slow-cache', server: 0, lag: 60_000, for: 60_000 },
      ],
    },
  },
  {
    sentence:
      'the answer of a refused create comes to a process that stands still: it says itself that it was late (mistake of the promise)',
    promise: 'R2',
    plan: {
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z' })],
      faults: [
        { at: 29_000, fault: 'partition', replica: 0, direction: 'out', for: 10_000 },
        fullQuota(29_500, 22_000),
        { at: 31_000, fault: 'sigstop', replica: 0, for: 20_000 },
      ],
    },
  },
  {
    sentence:
      'no replica leads and a starting deadline is over: a standby read the At three times a second until one led',
    promise: 'R4',
    plan: {
      ...{ election: true, duration: 2 * minute },
      deeds: [at('at-0', { schedule: '2024-01-01T00:01:02Z', startingDeadlineSeconds: 3 })],
      faults: [
        { at: 50_000, fault: 'suspend', replica: 0, for: 70_000 },
        { at: 119_900, fault: 'kill', replica: 0, for: 100 },
      ],
    },
  },
  {
    sentence:
      'statuses that say why Pods are refused were refused themselves: each was tried 40 times a second, without a back-off',
    promise: 'R4',
    plan: {
      deeds: ['a', 'b', 'c', 'd', 'e'].flatMap((name) => [
        at(name, { schedule: '2024-01-01T00:00:30Z' }),
        touch(name, 36_000),
      ]),
      faults: [
        fullQuota(20_000, 40_000),
        {
          ...{ at: 25_000, fault: 'refuse', method: '', path: '/ats', code: 403, for: 35_000 },
          message: 'the operator cannot do that',
        },
      ],
    },
  },
  {
    sentence:
      'two active replicas without election had different reasons why an At has no Pod, and wrote them against each other a thousand times a second',
    promise: 'R4',
    plan: {
      ...{ seed: 'mwsyxot8-24', duration: 2 * minute, replicas: 2 },
      deeds: [
        at('at-30', { schedule: '2024-01-01T00:00:37.762Z', launchGuarantee: 'ExactlyOnce' }, 0),
        pod('at-30-pod', 0),
        at('at-35', { launchGuarantee: 'ExactlyOnce' }, 0),
        pod('at-35-pod', 0),
      ],
      faults: [
        { at: 45_991, fault: 'kill', replica: 1, for: 899 },
        {
          ...{ at: 47_526, fault: 'refuse', method: '', path: '', code: 403, for: 1480 },
          message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
        },
      ],
    },
  },
  {
    sentence:
      'two active replicas had different counts of failed deletes, and wrote them against each other as fast as they could',
    promise: 'R4',
    plan: {
      ...{ seed: 'mwtc1d9n-385', duration: 2 * minute, replicas: 2 },
      features: ['watcher-annotated'],
      deeds: [...annotatedApp(), edit(58_985, { message: 'two' })],
      faults: [
        {
          ...{ at: 58_097, fault: 'refuse', method: 'DELETE', path: '/pods/', code: 500, for: 15_684 },
          message: 'overloaded',
        },
      ],
    },
  },
  {
    sentence:
      'while the create of one At hung, the next in line read itself and its Pod four times a second, once its own had no answer',
    promise: 'R4',
    plan: {
      ...{ seed: 'x-1', duration: 2 * minute },
      deeds: [
        at('at-1', { launchGuarantee: 'ExactlyOnce' }, 1000),
        at('at-0', { launchGuarantee: 'ExactlyOnce' }, 3000),
      ],
      faults: [
        {
          ...{ at: 0, fault: 'refuse', method: 'POST', path: '/pods', code: 422, for: 131_425 },
          message: 'Pod is invalid: spec.runtimeClassName: Invalid value: "absent": not found',
        },
        { at: 900, fault: 'bad-network', replica: 0, for: 8000, kind: 'delay', rate: 0.5 },
      ],
    },
  },
  {
    sentence: 'the right to read a ConfigMap was missing: each watcher asked again with each of its retries',
    promise: 'R4',
    plan: {
      deeds: [
        configMap('app', { message: 'one' }, 0),
        ...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => watcher(name, 1)),
        edit(25_000, { message: 'two' }),
        edit(40_000, { message: 'three' }),
      ],
      faults: [
        { at: 30_000, fault: 'refuse', method: '', path: '', code: 403, message: 'not allowed', for: 30_000 },
      ],
    },
  },
  {
    sentence:
      'of three active replicas without election two did not see that a Pod had been released: each wrote its own launchTime and released it again, many times a second',
    promise: 'R4',
    plan: {
      ...{ seed: 'mwxvy4zj-8316-2', duration: 5 * minute, replicas: 3, servers: 2 },
      deeds: [
        at(
          'at-12',
          {
            schedule: '2024-01-01T00:03:34Z',
            launchGuarantee: 'ExactlyOnce',
            image: 'absent',
            command: 'job --for=20000 --exit=0 --fails=0 --on-term=0',
          },
          0,
        ),
      ],
      faults: [
        { at: 119_629, fault: 'watch-meets', times: 5, resource: 'pods', what: 'mute' },
        { at: 179_683, fault: 'close-watches' },
      ],
    },
  },
  {
    sentence:
      'an At was edited, and the cache of a standby was behind: each look with the older version took it out of the line of those that are refused',
    promise: 'R4',
    plan: {
      ...{ seed: 'x-0', duration: 3 * minute, replicas: 2, election: true },
      deeds: [
        at('at-0', { schedule: '2024-01-01T00:00:44Z' }, 0),
        { at: 46_917, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { suspend: true } } },
        { at: 47_997, do: 'patch', resource: 'ats', name: 'at-0', body: { spec: { suspend: false } } },
      ],
      faults: [
        { ...webhookDown, for: 100_000 },
        { at: 15_000, fault: 'stale-cache', server: 0, for: 120_000 },
      ],
    },
  },
  {
    sentence:
      'Ats that a quota had refused were then refused for a reason of their own: each took the turn of the next one, and was tried again at once',
    promise: 'R4',
    plan: {
      duration: 2 * minute,
      deeds: Array.from({ length: 10 }, (_, index) =>
        at(`at-${index}`, { schedule: '2024-01-01T00:00:20Z' }, 0),
      ),
      faults: [
        fullQuota(15_000, 20_000),
        {
          ...{ at: 35_000, fault: 'refuse', method: 'POST', path: '/pods', code: 422, for: 30_000 },
          message: 'Pod is invalid: spec.runtimeClassName: Invalid value: "absent": not found',
        },
      ],
    },
  },
  {
    sentence:
      'a status that was refused before an At was due put off its launch by nine seconds, which blamed the operator',
    promise: 'R2',
    plan: {
      ...{ seed: 'mx2sepd0-997', duration: 5 * minute, replicas: 3 },
      clocks: [
        { skew: -2000, drift: -0.0001 },
        { skew: 50, drift: 0 },
        { skew: 1_200_000, drift: -0.0001 },
      ],
      deeds: [
        pod('at-19-pod', 0),
        pod('at-30-pod', 0),
        at('at-22', { schedule: '2024-01-01T00:01:27.916Z', launchGuarantee: 'ExactlyOnce' }, 78_457),
        at('at-8', { schedule: '2024-01-01T00:04:15Z', command: "job 'not closed" }, 156_220),
      ],
      faults: [
        { at: 1182, fault: 'terminate', replica: 2, for: 32_669 },
        {
          at: 16_206,
          fault: 'refuse',
          method: '',
          path: '',
          code: 403,
          message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
          for: 171_477,
        },
      ],
    },
  },
  {
    sentence:
      'an operator with --author-check that began while discovery was refused ended with the answer instead of asking again',
    promise: 'S17',
    plan: {
      ...{ seed: 'row', features: ['at-author'], deeds: [at('at-0', {})] },
      faults: [
        { at: 20_000, fault: 'kill', replica: 0, for: 5000 },
        {
          ...{
            at: 24_000,
            fault: 'refuse',
            method: 'GET',
            path: '/admissionregistration.k8s.io',
            code: 403,
            for: 5000,
          },
          message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
        },
      ],
    },
  },
  {
    sentence:
      'an operator with --author-check took the 404 page of a proxy for an API server without the kind of policy',
    promise: 'S17',
    plan: {
      ...{ seed: 'row', features: ['at-author'], deeds: [at('at-0', {})] },
      faults: [
        { at: 20_000, fault: 'kill', replica: 0, for: 5000 },
        { at: 24_000, fault: 'bad-network', replica: 0, kind: 'page', rate: 0.7, for: 20_000 },
      ],
    },
  },
  {
    sentence:
      'a busy API server turned creates and statuses away for seconds before it took them, which the client repeated: LaunchedLate blamed the operator',
    promise: 'R2',
    plan: {
      ...{ seed: 'r-0', duration: minute, replicas: 2, servers: 1 },
      deeds: Array.from({ length: 30 }, (_, index) =>
        at(`at-${index}`, { schedule: '2024-01-01T00:00:20Z', launchGuarantee: 'ExactlyOnce' }),
      ),
      faults: [{ at: 18_000, fault: 'seats', count: 1, duration: 100, for: 20_000 }],
    },
  },
  {
    sentence:
      'a mistake of the promise: the next attempt of an At was to be made although its author had lost the right to create Pods',
    promise: 'L2',
    plan: {
      ...{ seed: 'row', duration: 12 * minute, features: ['at-author'] },
      deeds: [
        grant('at-0', 0),
        byDeveloper(at('at-0', { command: 'job --for=900000', disruptionPolicy: 'Retry' })),
        revoke('at-0', 30_000),
        podMeets(40_000, 'delete'),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: a Pod that was gone counted as one that waited for its start, while the author of its At had no right to the next attempt',
    promise: 'L9',
    plan: {
      ...{ seed: 'row', duration: 20 * minute, features: ['at-author'] },
      deeds: [
        grant('at-0', 0),
        byDeveloper(
          at('at-0', {
            ...{ command: 'job', image: 'absent', disruptionPolicy: 'Retry', pendingTimeoutSeconds: 300 },
          }),
        ),
        revoke('at-0', 30_000),
        podMeets(120_000, 'delete'),
      ],
    },
  },
];
