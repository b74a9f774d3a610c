/** Rollouts: what simulations have found about templates that a restart changes, and selectors that are edited. */
import type { Deed } from '../plan/plan.ts';
import { app, edit, editWatcher, minute, owner, type Regression } from './parts.ts';

/** A watcher of all owners of the app, without its DaemonSet. */
function rolledOutWith(spec: object): Deed[] {
  const all = app({ strategy: { type: 'RolloutRestart' }, debounce: { quiet: '10s' }, ...spec });
  return all.filter((deed) => deed.do === 'create' && deed.resource !== 'daemonsets');
}

/** The same, whose Pods are deleted, without a pause. */
function evictedWith(strategy: object): Deed[] {
  return rolledOutWith({ strategy: { type: 'Delete', ...strategy }, debounce: { quiet: '0s' } });
}

const rolledOut: readonly Deed[] = rolledOutWith({});

function patchDeployment(when: number, name: string, spec: object): Deed {
  return { at: when, do: 'patch', resource: 'deployments', name, body: { spec } };
}

/** A user removes what the restart has written into the template. */
function takeBack(when: number, name: string): Deed {
  const annotations = { 'k8spatterns.io/restarted-for.app': null };
  return patchDeployment(when, name, { template: { metadata: { annotations } } });
}

/** From then on the watcher of the app selects by these as well. */
function select(when: number, podSelectorExpressions: object | null): Deed {
  return editWatcher(when, { podSelectorExpressions });
}

export const rollouts: readonly Regression[] = [
  {
    sentence:
      'of two active replicas one changed the template of a Deployment, and the other one changed it again after a user had taken the change back',
    promise: 'S7',
    plan: {
      ...{ seed: 'row', duration: 5 * minute, replicas: 2, election: false },
      deeds: [
        owner('deployments', 'web', 'app', { replicas: 1 }),
        ...rolledOut,
        edit(113_000, { message: 'a-bad-one' }),
        takeBack(128_000, 'web'),
        edit(150_000, { message: 'two' }),
      ],
    },
  },
  {
    sentence:
      'a template that a user had taken back while no operator ran was changed again, though status could have told of it',
    promise: 'S7',
    plan: {
      ...{ seed: 'row', duration: 5 * minute, replicas: 1, election: false },
      deeds: [
        owner('deployments', 'web', 'app', { replicas: 1 }),
        ...rolledOut,
        edit(113_000, { message: 'a-bad-one' }),
        takeBack(128_000, 'web'),
        edit(200_000, { message: 'two' }),
      ],
      faults: [{ at: 126_000, fault: 'kill', replica: 0, for: 20_000 }],
    },
  },
  {
    sentence:
      'of two active replicas one took the template that the other had changed since for one that a user had taken back, and went on with the next owner',
    promise: 'R3',
    plan: {
      ...{ seed: 'row', duration: 5 * minute, replicas: 2, servers: 2, election: false },
      deeds: [
        owner('deployments', 'web', 'app', { replicas: 5 }),
        ...app({ strategy: { type: 'RolloutRestart' }, debounce: { quiet: '10s' } }),
        edit(150_000, { message: 'two' }),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: an owner was to show that a content works although a user had taken its template back, so that the next one could not begin',
    promise: 'R3',
    plan: {
      ...{ seed: 'row', duration: 5 * minute },
      deeds: [
        owner('deployments', 'one', 'app', { replicas: 1 }),
        owner('deployments', 'two', 'app', { replicas: 1 }),
        ...rolledOut,
        patchDeployment(30_000, 'two', { paused: true }),
        edit(113_000, { message: 'a-bad-one' }),
        takeBack(128_000, 'one'),
        patchDeployment(171_000, 'two', { paused: false }),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: Pods were to be restarted that had not been selected when the content changed, for an edit that was taken back before the operator could read it',
    promise: 'R3',
    plan: {
      ...{ seed: 'row', duration: 5 * minute },
      deeds: [
        ...app({}),
        select(70_000, [{ key: 'app', operator: 'DoesNotExist' }]),
        edit(80_000, { message: 'two' }),
        select(95_000, null),
        edit(100_000, { message: 'three' }),
        edit(101_000, { message: 'two' }),
      ],
      faults: [
        { at: 94_000, fault: 'refuse', method: '', path: '', code: 403, message: 'not allowed', for: 20_000 },
      ],
    },
  },
  {
    sentence:
      "a selector was edited so that it matches a template and none of its Pods, which have their controller's labels as well: the restart waited for them for ever",
    promise: 'L8',
    plan: {
      ...{ seed: 'row', duration: 5 * minute },
      deeds: [
        owner('deployments', 'web', 'app', { replicas: 2 }),
        ...rolledOutWith({
          strategy: { type: 'RolloutRestart', progressDeadlineSeconds: 10 },
          cooldown: { base: '60s', max: '60s' },
        }),
        edit(30_000, { message: 'two' }),
        edit(43_000, { message: 'three' }),
        patchDeployment(60_000, 'web', { replicas: 0 }),
        select(70_000, [{ key: 'pod-template-hash', operator: 'DoesNotExist' }]),
        patchDeployment(75_000, 'web', { replicas: 2 }),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: an owner that a user had deleted was to show that a content breaks its Pods, because another one of its name had been made',
    promise: 'R3',
    plan: {
      ...{ seed: 'row-20', duration: 3 * minute },
      deeds: [
        ...app({ strategy: { type: 'Auto' }, debounce: { quiet: '0s' } }),
        owner('deployments', 'small', 'app', { replicas: 1 }),
        edit(20_000, { message: 'a-bad-one' }),
        { at: 69_578, do: 'delete', resource: 'deployments', name: 'small' },
        { ...owner('deployments', 'small', 'app', { replicas: 1 }), at: 70_578 },
        edit(130_000, { message: 'two' }),
      ],
    },
  },
  {
    sentence: 'the next content took Pods that served of each owner of which an earlier one had broken some',
    promise: 'R3',
    plan: {
      duration: 5 * minute,
      deeds: [
        ...evictedWith({ canary: false, maxUnavailable: 1 }),
        owner('deployments', 'first', 'app', { replicas: 4 }),
        owner('deployments', 'second', 'app', { replicas: 4 }),
        edit(minute, { message: 'a-bad-one' }),
        editWatcher(2 * minute, { strategy: { canary: true, maxUnavailable: '100%' } }),
        edit(2 * minute + 30_000, { message: 'a-bad-two' }),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: Pods that an edited selector had added were to run the content that came back',
    promise: 'R3',
    plan: {
      duration: 5 * minute,
      deeds: [
        ...evictedWith({}),
        owner('deployments', 'first', 'app'),
        owner('deployments', 'second', 'app'),
        select(1000, [{ key: 'part', operator: 'In', values: ['first'] }]),
        edit(minute, { message: 'two' }),
        select(2 * minute, null),
        edit(3 * minute, { message: 'three' }),
        edit(3 * minute + 1000, { message: 'two' }),
      ],
    },
  },
  {
    sentence:
      'the selector was edited so that it leaves out the owner whose Pods a content breaks: the next one tried it (mistake of the promise)',
    promise: 'R3',
    plan: {
      ...{ duration: 3 * minute },
      deeds: [
        owner('statefulsets', 'first', 'app'),
        owner('deployments', 'second', 'app', { replicas: 3 }),
        ...evictedWith({ progressDeadlineSeconds: 10 }),
        edit(40_000, { message: 'a-bad-one' }),
        editWatcher(110_000, { podSelector: { app: 'app', part: 'second' } }),
      ],
    },
  },
];
