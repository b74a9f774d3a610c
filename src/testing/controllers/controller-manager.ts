/** Controller manager: all simulated controllers of workloads, garbage, namespaces and budgets. */
import type { ClusterAccess, RandomSource } from '../cluster-ports.ts';
import type { Controller, ControllerSetting } from './controller.ts';
import { daemonSetController } from './daemon-set-controller.ts';
import { deploymentController } from './deployment-controller.ts';
import { disruptionController } from './disruption-controller.ts';
import { garbageCollector } from './garbage-collector.ts';
import { namespaceController } from './namespace-controller.ts';
import { podGarbageCollector } from './pod-garbage-collector.ts';
import { replicaSetController } from './replica-set-controller.ts';
import { statefulSetController } from './stateful-set-controller.ts';

const controllers = {
  deployment: deploymentController,
  'replica-set': replicaSetController,
  'stateful-set': statefulSetController,
  'daemon-set': daemonSetController,
  disruption: disruptionController,
  'garbage-collector': garbageCollector,
  'pod-garbage-collector': podGarbageCollector,
  namespace: namespaceController,
};

export type ControllerName = keyof typeof controllers;

export interface ControllerManagerOptions {
  readonly cluster: ClusterAccess;
  /** Gives each controller a source of its own. */
  readonly random: { fork(label: string): RandomSource };
  /** How late single controllers notice changes, in ms. Default: each its own. */
  readonly delays?: Partial<Record<ControllerName, readonly [number, number]>>;
}

/** Starts them all. Returns what stops them, as the end of their process does. */
export function startControllers({ cluster, random, delays = {} }: ControllerManagerOptions): {
  stop(): void;
} {
  const running: Controller[] = Object.entries(controllers).map(([name, start]) => {
    const delay = delays[name as ControllerName];
    const setting: ControllerSetting = { cluster, random: random.fork(name), ...(delay && { delay }) };
    return start(setting);
  });
  return {
    stop() {
      for (const controller of running) controller.stop();
    },
  };
}
