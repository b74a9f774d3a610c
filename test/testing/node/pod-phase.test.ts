/** The phase of a Pod, from the states of its containers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerState } from '../../../src/kubernetes/objects.ts';
import { BackOff } from '../../../src/testing/node/back-off.ts';
import { mayRestart } from '../../../src/testing/node/pod-containers.ts';
import { phaseOf } from '../../../src/testing/node/pod-phase.ts';
import type { ContainerStatus } from '../../../src/testing/objects.ts';

type Short = 'waiting' | 'running' | 'crashing' | number;

/** A number is the exit code of a container that has ended. */
function status(name: string, short: Short): ContainerStatus {
  const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
  const state = ((): Pick<ContainerStatus, 'state' | 'lastState'> => {
    switch (short) {
      case 'waiting':
        return { state: { waiting: {} } };
      case 'running':
        return { state: { running: {} } };
      case 'crashing':
        return { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(1) };
      default:
        return { state: ended(short) };
    }
  })();
  return { name, restartCount: 0, ...state };
}

interface Row {
  readonly policy?: string;
  readonly inits?: readonly Short[];
  readonly sidecar?: Short;
  readonly mains: readonly Short[];
  readonly ended?: boolean;
  readonly phase: string;
}

const rows: readonly Row[] = [
  { mains: ['waiting'], phase: 'Pending' },
  { mains: ['running'], phase: 'Running' },
  { mains: ['running', 'waiting'], phase: 'Pending' },
  { mains: ['crashing'], phase: 'Running' },
  { mains: [0], phase: 'Running' },
  { policy: 'OnFailure', mains: [0], phase: 'Succeeded' },
  { policy: 'OnFailure', mains: [1], phase: 'Running' },
  { policy: 'OnFailure', mains: [0, 'running'], phase: 'Running' },
  { policy: 'Never', mains: [1], phase: 'Failed' },
  { policy: 'Never', mains: [0, 1], phase: 'Failed' },
  { policy: 'Never', mains: [1, 'running'], phase: 'Running' },
  { inits: ['running'], mains: ['waiting'], phase: 'Pending' },
  { inits: [1], mains: ['waiting'], phase: 'Pending' },
  { policy: 'Never', inits: [1], mains: ['waiting'], phase: 'Failed' },
  { inits: [0], mains: ['running'], phase: 'Running' },
  { policy: 'Never', sidecar: 'running', mains: [0], phase: 'Running' },
  { policy: 'Never', sidecar: 0, mains: [0], phase: 'Succeeded' },
  { mains: [0], ended: true, phase: 'Succeeded' },
  { mains: [0, 137], ended: true, phase: 'Failed' },
];

describe('The phase of a Pod', () => {
  for (const { policy = 'Always', inits = [], sidecar, mains, ended = false, phase } of rows) {
    const what = JSON.stringify({ inits, sidecar, mains, ended });
    it(`under ${policy} with ${what} is ${phase}`, () => {
      const names = inits.map((_, index) => ({ name: `init-${index}` }));
      const sidecars = sidecar === undefined ? [] : [{ name: 'sidecar', restartPolicy: 'Always' }];
      const spec = { restartPolicy: policy, containers: [], initContainers: [...names, ...sidecars] };
      const statuses = [
        ...inits.map((short, index) => status(`init-${index}`, short)),
        ...(sidecar === undefined ? [] : [status('sidecar', sidecar)]),
      ];
      const main = mains.map((short, index) => status(`main-${index}`, short));
      assert.equal(phaseOf(spec, statuses, main, ended), phase);
    });
  }
});

describe('A container that has ended', () => {
  it('starts again as the policy says, an init container after a failure only', () => {
    const answers = (['main', 'init', 'sidecar'] as const).map((role) =>
      ['Always', 'OnFailure', 'Never'].map((policy) => [0, 1].map((code) => mayRestart(role, policy, code))),
    );
    assert.deepEqual(answers, [
      [
        [true, true],
        [false, true],
        [false, false],
      ],
      [
        [false, true],
        [false, true],
        [false, false],
      ],
      [
        [true, true],
        [true, true],
        [true, true],
      ],
    ]);
  });

  it('waits 10 s, doubling to 5 min, and from the start again after 10 min without an end', () => {
    const backOff = new BackOff();
    let now = 0;
    const delays: number[] = [];
    for (let i = 0; i < 8; i++) {
      const delay = backOff.delayAfter('key', now);
      delays.push(delay / 1000);
      now += delay;
      backOff.next('key', now);
      now += 1000;
    }
    assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
    assert.equal(backOff.delayAfter('key', now + 601_000), 0);
  });
});
