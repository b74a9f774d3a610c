import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec, AtStatus } from '../../../src/api/at.generated.ts';
import { baseName } from '../../../src/cli/at/create.ts';
import { dueLines } from '../../../src/cli/at/due-lines.ts';
import { templateFrom } from '../../../src/cli/at/from-workload.ts';
import { chosen } from '../../../src/cli/at/list.ts';
import { nextName } from '../../../src/cli/at/rerun.ts';
import { sayCommand, sayOutcome, stateOf } from '../../../src/cli/at/state.ts';
import { timelineOf } from '../../../src/cli/at/timeline.ts';
import { codeOf } from '../../../src/cli/at/wait.ts';
import type { Condition, Pod } from '../../../src/kubernetes/objects.ts';

const now = Date.UTC(2026, 10, 22, 9, 0);

function at(status: AtStatus = {}, spec: Partial<AtSpec> = {}, name = 'a'): At {
  const schedule = '2026-11-22T10:00:00Z';
  return {
    metadata: { name, namespace: 'dev', uid: name, generation: 1 },
    spec: { schedule, argv: ['true'], ...spec },
    status,
  };
}

function condition(type: string, status: Condition['status'], reason = type, message = ''): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-11-22T09:00:00Z' };
}

describe('the state of an At', () => {
  const rows: readonly (readonly [word: string, tone: string, at: At])[] = [
    ['Waiting', 'plain', at({ phase: 'PENDING' })],
    ['Waiting', 'plain', at({ phase: 'PENDING' }, { schedule: '2026-11-22T08:59:50Z' })],
    ['Overdue', 'bad', at({ phase: 'PENDING' }, { schedule: '2026-11-22T08:59:30Z' })],
    ['Suspended', 'warn', at({ phase: 'PENDING' }, { suspend: true, schedule: '2020-01-01T00:00:00Z' })],
    ['Canceling', 'faint', at({ phase: 'PENDING' }, { cancel: true })],
    ['Invalid', 'bad', at({ conditions: [condition('Accepted', 'False', 'InvalidCommand')] })],
    ['PodRejected', 'bad', at({ conditions: [condition('Launched', 'False', 'PodRejected')] })],
    ['Running', 'busy', at({ phase: 'RUNNING' })],
    ['ImagePullBackOff', 'warn', at({ phase: 'RUNNING', reason: 'ImagePullBackOff' })],
    ['Stopping', 'warn', at({ phase: 'RUNNING' }, { cancel: true })],
    ['Succeeded', 'good', at({ phase: 'DONE', outcome: 'Succeeded' })],
    ['Failed', 'bad', at({ phase: 'DONE', outcome: 'Failed' })],
    ['Missed', 'bad', at({ phase: 'DONE', outcome: 'Missed' })],
    ['Canceled', 'faint', at({ phase: 'DONE', outcome: 'Canceled' }, { cancel: true })],
  ];
  for (const [word, tone, object] of rows) {
    it(`may be ${word}`, () => {
      const state = stateOf(object, now);
      assert.deepEqual([state.word, state.tone], [word, tone]);
    });
  }

  it('tells what status says of an At that waits or runs well', () => {
    const said = (phase: 'PENDING' | 'RUNNING') =>
      stateOf(at({ phase, message: 'attempt 2 of 10' }), now).message;
    assert.deepEqual([said('PENDING'), said('RUNNING')], ['attempt 2 of 10', 'attempt 2 of 10']);
  });

  it('says why it ended, in one line', () => {
    const message = 'first\nrm: cannot remove /x\n';
    const failed: AtStatus = {
      phase: 'DONE',
      outcome: 'Failed',
      reason: 'CommandFailed',
      exitCode: 3,
      message,
    };
    assert.equal(sayOutcome(at(failed)), 'Failed (exit code 3): rm: cannot remove /x');
    assert.equal(
      sayOutcome(at({ outcome: 'Failed', reason: 'Unschedulable', message: '0/1 nodes' })),
      'Failed (Unschedulable): 0/1 nodes',
    );
    assert.equal(
      sayOutcome(at({ outcome: 'Succeeded', reason: 'Succeeded', exitCode: 0, message: 'x' })),
      'Succeeded',
    );
    assert.equal(sayOutcome(at({ outcome: 'Canceled', reason: 'Canceled' })), 'Canceled');
  });

  it('shows the command as it could be typed', () => {
    assert.equal(
      sayCommand(at({}, { argv: ['sh', '-c', "echo 'a b' > /x"] })),
      "sh -c 'echo '\\''a b'\\'' > /x'",
    );
  });
});

describe('the exit code of wait', () => {
  const rows: readonly (readonly [status: AtStatus, code: number])[] = [
    [{ outcome: 'Succeeded', exitCode: 0 }, 0],
    [{ outcome: 'Failed', exitCode: 3 }, 3],
    [{ outcome: 'Failed' }, 1],
    [{ outcome: 'Failed', exitCode: 0, reason: 'DeadlineExceeded' }, 1],
    [{ outcome: 'Missed' }, 125],
    [{ outcome: 'Canceled', exitCode: 143 }, 125],
  ];
  for (const [status, code] of rows) {
    it(`is ${code} for ${JSON.stringify(status)}`, () => assert.equal(codeOf(at(status)), code));
  }
});

describe('a list', () => {
  const done = (name: string, startTime: string, outcome: 'Succeeded' | 'Failed') =>
    at({ phase: 'DONE', outcome, startTime, completionTime: startTime }, {}, name);
  const all = [
    at({ phase: 'PENDING' }, {}, 'waits'),
    done('second', '2026-11-22T08:00:00Z', 'Failed'),
    done('first', '2026-11-22T07:00:00Z', 'Succeeded'),
    at({ conditions: [condition('Accepted', 'False')] }, { schedule: 'never' }, 'invalid'),
  ];
  const names = (choice: { last?: number; failed?: boolean }) =>
    chosen(all, { last: undefined, failed: false, now, ...choice }).map(({ metadata }) => metadata.name);

  it('goes by time, what cannot be run last', () =>
    assert.deepEqual(names({}), ['first', 'second', 'waits', 'invalid']));
  it('has the last ones that have run', () => assert.deepEqual(names({ last: 1 }), ['second']));
  it('has one that began in the second of its launch where it was launched', () => {
    const launchTime = '2026-11-22T08:00:00.900000Z';
    const startTime = '2026-11-22T08:00:00Z';
    const canceled = at(
      { phase: 'DONE', outcome: 'Canceled', completionTime: '2026-11-22T08:00:00.200000Z' },
      {},
      'canceled before',
    );
    const launched = at({ phase: 'RUNNING', launchTime, startTime }, {}, 'launched after');
    assert.deepEqual(
      chosen([launched, canceled], { last: 2, failed: false, now }).map(({ metadata }) => metadata.name),
      ['canceled before', 'launched after'],
    );
  });
  it('has those that went wrong', () => assert.deepEqual(names({ failed: true }), ['second', 'invalid']));
});

describe('a name', () => {
  it('is made of the program', () => {
    assert.equal(baseName(['/usr/bin/rake', 'db:migrate']), 'rake');
    assert.equal(baseName(['./Migrate_All.sh']), 'migrate-all-sh');
    assert.equal(baseName(['___']), 'at');
    assert.equal(baseName(['x'.repeat(80)]).length, 40);
  });

  it('of one that runs again is the next that is free', () => {
    assert.equal(nextName('backup', new Set(['backup'])), 'backup-2');
    assert.equal(nextName('backup-2', new Set(['backup', 'backup-2', 'backup-3'])), 'backup-4');
    assert.equal(nextName('release-2026', new Set()), 'release-2026-2');
    const long = nextName('x'.repeat(63), new Set());
    assert.deepEqual([long.length, long.slice(-3)], [63, 'x-2']);
  });
});

it('the time is shown once for each zone', () => {
  const instant = Date.UTC(2026, 11, 1, 8);
  assert.deepEqual(dueLines(instant, 'Europe/Berlin', { now, zone: 'America/New_York' }), [
    '  Europe/Berlin             Tue 1 Dec 2026 09:00:00 +01:00',
    '  America/New_York (here)   Tue 1 Dec 2026 03:00:00 -05:00',
    '  UTC                       Tue 1 Dec 2026 08:00:00 +00:00',
  ]);
  assert.deepEqual(dueLines(instant, 'UTC', { now, zone: 'UTC' }), [
    '  UTC (here)   Tue 1 Dec 2026 08:00:00 +00:00',
  ]);
});

describe('a template from a workload', () => {
  const pod = {
    metadata: { annotations: { 'kubectl.kubernetes.io/default-container': 'app' }, labels: { app: 'web' } },
    spec: {
      serviceAccountName: 'web',
      nodeName: 'node-1',
      restartPolicy: 'Always',
      nodeSelector: { disk: 'ssd' },
      imagePullSecrets: [{ name: 'pull' }],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'proxy', emptyDir: {} },
      ],
      initContainers: [{ name: 'init', image: 'i' }],
      containers: [
        { name: 'proxy', image: 'p', volumeMounts: [{ name: 'proxy', mountPath: '/p' }] },
        {
          name: 'app',
          image: 'web:1',
          command: ['serve'],
          args: ['-v'],
          ports: [{ containerPort: 80 }],
          livenessProbe: {},
          resources: { limits: { cpu: '1' } },
          env: [{ name: 'A', value: 'b' }],
          envFrom: [{ configMapRef: { name: 'c' } }],
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
    },
  };

  it('has what the command needs, and nothing that makes it a server', () => {
    assert.deepEqual(templateFrom(pod, undefined), {
      spec: {
        automountServiceAccountToken: true,
        serviceAccountName: 'web',
        nodeSelector: { disk: 'ssd' },
        imagePullSecrets: [{ name: 'pull' }],
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          {
            name: 'app',
            image: 'web:1',
            env: [{ name: 'A', value: 'b' }],
            envFrom: [{ configMapRef: { name: 'c' } }],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      },
    });
  });

  it('may be of another container', () => {
    const { spec } = templateFrom(pod, 'proxy');
    assert.deepEqual(spec?.volumes, [{ name: 'proxy', emptyDir: {} }]);
    assert.throws(() => templateFrom(pod, 'side'), /there is no container "side", but proxy, app/);
  });
});

describe('the timeline', () => {
  const container = { name: 'busybox', restartCount: 1 };
  const pod: Pod = {
    metadata: { name: 'a-pod', creationTimestamp: '2026-11-22T08:00:01Z' },
    spec: { containers: [{ name: 'busybox' }], nodeName: 'node' },
    status: {
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-11-22T08:00:02Z' }],
      containerStatuses: [
        {
          ...container,
          lastState: {
            terminated: {
              exitCode: 2,
              reason: 'Error',
              startedAt: '2026-11-22T08:00:03Z',
              finishedAt: '2026-11-22T08:00:04Z',
            },
          },
          state: {
            terminated: {
              exitCode: 137,
              reason: 'OOMKilled',
              startedAt: '2026-11-22T08:00:14Z',
              finishedAt: '2026-11-22T08:00:15Z',
            },
          },
        },
      ],
    },
  };

  it('has what happened in the order of time, and nothing that is to come', () => {
    const object = at(
      { phase: 'DONE', outcome: 'Failed', exitCode: 137, completionTime: '2026-11-22T08:00:16Z' },
      { schedule: '2026-11-22T08:00:00Z' },
    );
    const event = {
      metadata: { name: 'e' },
      type: 'Warning',
      reason: 'BackOff',
      message: 'Back-off',
      count: 3,
      firstTimestamp: '2026-11-22T08:00:05Z',
    };
    const involvedObject = { kind: 'Pod' };
    const routine = {
      involvedObject,
      metadata: { name: 's' },
      type: 'Normal',
      reason: 'Started',
      message: '',
      firstTimestamp: '2026-11-22T08:00:03Z',
    };
    const created = {
      ...object,
      metadata: { ...object.metadata, creationTimestamp: '2026-11-22T07:00:00Z' },
    };
    const lines = timelineOf({ at: created, pods: [pod], events: [event, routine], now });
    assert.deepEqual(
      lines.map(({ text }) => text),
      [
        'created',
        'due',
        'a-pod created',
        'a-pod assigned to the node node',
        'a-pod runs the command',
        'the command ended with exit code 2',
        'BackOff: Back-off (3 times)',
        'a-pod runs the command again (restart 1)',
        'the command ended with exit code 137, OOMKilled',
        'Failed (exit code 137)',
      ],
    );
    const waiting = timelineOf({ at: at({}, {}), pods: [], events: [], now });
    assert.deepEqual(waiting, []);
  });
});
