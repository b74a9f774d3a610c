/** The nodes of a run, and what the programs on them do, as the words of their commands say. */

import { startControllers } from '../../../src/testing/controllers/controller-manager.ts';
import { Kubelet } from '../../../src/testing/node/kubelet.ts';
import { NodeLifecycle } from '../../../src/testing/node/node-lifecycle.ts';
import type { Behaviour, ContainerEnd, ContainerStart } from '../../../src/testing/node/program.ts';
import { Scheduler } from '../../../src/testing/node/scheduler.ts';
import type { SimulatedCluster } from '../../../src/testing/simulated-cluster.ts';
import type { History } from '../history.ts';
import { absentImage, absentProgram } from '../plan/draw-ats.ts';

const nodeCount = 3;

function flag(words: readonly string[], name: string): string | undefined {
  return words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
}

/**
 * `job --for=MS --exit=CODE --fails=N --on-term=CODE` fails so often, and then ends so; without the last one it takes
 * no notice of SIGTERM. `serve --ready-after=MS --breaks-with=WORD --ends-in=MS`
 * runs until it is stopped, ends so long after SIGTERM, and crashes after a second with a content that has the word.
 * A program that is absent cannot be started.
 */
export function program({ container, start, sources }: ContainerStart): Behaviour {
  const [name, ...words] = container.command ?? [];
  if (name === absentProgram) return { startError: `exec: "${name}": executable file not found in $PATH` };
  if (name === 'job') {
    const fails = start <= Number(flag(words, 'fails') ?? 0);
    const exitCode = fails ? 1 : Number(flag(words, 'exit') ?? 0);
    const onTerm = flag(words, 'on-term');
    return {
      ...{ exitAfter: Number(flag(words, 'for') ?? 0), exitCode, log: `exit ${exitCode}` },
      ...(onTerm !== undefined && { onTerm: { exitAfter: 300, exitCode: Number(onTerm) } }),
    };
  }
  const word = flag(words, 'breaks-with');
  const isBad = sources.some(({ data = {} }) =>
    Object.values(data).some((value) => value.includes(`-${word}-`)),
  );
  const onTerm = { exitAfter: Number(flag(words, 'ends-in') ?? 100), exitCode: 143 };
  return isBad
    ? { exitAfter: 1000, exitCode: 1, onTerm }
    : { readyAfter: Number(flag(words, 'ready-after') ?? 0), onTerm };
}

/** Nodes, scheduler and controllers, with the history as a listener. */
export function startNodes({ access: cluster, simulation }: SimulatedCluster, history: History): Kubelet[] {
  const random = simulation.random.fork('nodes');
  const listener = {
    onStart(start: ContainerStart) {
      const sources = start.sources.map(({ kind, name, data }) => ({ kind, name, data }));
      history.add({ type: 'container-start', ...entryOf(start), sources });
    },
    onEnd(end: ContainerEnd) {
      history.add({ type: 'container-end', ...entryOf(end), exitCode: end.exitCode });
    },
  };
  const lifecycle = new NodeLifecycle({ cluster, random: random.fork('lifecycle') });
  const kubelets = Array.from({ length: nodeCount }, (_, network) => {
    const name = `node-${network}`;
    const kubelet = new Kubelet({
      cluster,
      random: random.fork(name),
      name,
      network,
      program,
      hasImage: (image) => image !== absentImage,
      listeners: [listener],
    });
    lifecycle.watch(kubelet);
    kubelet.start();
    return kubelet;
  });
  new Scheduler({ cluster, random: random.fork('scheduler') });
  startControllers({ cluster, random: simulation.random.fork('controllers') });
  return kubelets;
}

function entryOf({ pod: { metadata }, container, at }: ContainerStart | ContainerEnd) {
  const { namespace = '', name, uid = '' } = metadata;
  return { time: at, namespace, pod: name, podUid: uid, container: container.name };
}
