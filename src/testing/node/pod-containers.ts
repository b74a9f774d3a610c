/** The containers of one Pod: in which order they start, and when the Pod has finished. */
import type { Container, Pod } from '../objects.ts';
import { SimulatedContainer } from './container.ts';
import { ConfigError, environmentOf, type Files } from './container-sources.ts';
import type { KubeletServices } from './kubelet-services.ts';
import type { ContainerRole } from './program.ts';

/** What the containers ask of the Pod's worker. */
export interface PodAccess {
  pod(): Pod;
  files(): Files | undefined;
  changed(): void;
  whenSourcesChange(run: () => void): void;
}

/** What is to be done next. */
export interface Progress {
  readonly begin: readonly SimulatedContainer[];
  /** The init containers have done their work. */
  readonly initialized: boolean;
  /** No container will start again. */
  readonly finished: boolean;
}

export class PodContainers {
  readonly inits: readonly SimulatedContainer[];
  readonly mains: readonly SimulatedContainer[];

  constructor(inits: readonly SimulatedContainer[], mains: readonly SimulatedContainer[]) {
    this.inits = inits;
    this.mains = mains;
  }

  get all(): readonly SimulatedContainer[] {
    return [...this.inits, ...this.mains];
  }

  get sidecars(): readonly SimulatedContainer[] {
    return this.inits.filter(({ role }) => role === 'sidecar');
  }

  /** All but the sidecars. */
  get regular(): readonly SimulatedContainer[] {
    return this.all.filter(({ role }) => role !== 'sidecar');
  }

  progress(restartPolicy: string, initialized: boolean): Progress {
    const begin: SimulatedContainer[] = [];
    if (!initialized) {
      for (const init of this.inits) {
        if (init.role === 'sidecar' ? init.isRunning : init.ended?.exitCode === 0) continue;
        const failed = init.ended !== undefined && !mayRestart(init.role, restartPolicy, init.ended.exitCode);
        return {
          begin: failed ? [] : [...this.#fallenSidecars(init), init],
          initialized: false,
          finished: failed,
        };
      }
    }
    const over = this.mains.filter(
      ({ ended, role }) => ended !== undefined && !mayRestart(role, restartPolicy, ended.exitCode),
    );
    if (over.length === this.mains.length) return { begin: [], initialized: true, finished: true };
    begin.push(...this.#fallenSidecars(undefined), ...this.mains.filter((main) => !over.includes(main)));
    return { begin, initialized: true, finished: false };
  }

  /** The sidecars that come before an init container and do not run. */
  #fallenSidecars(until: SimulatedContainer | undefined): readonly SimulatedContainer[] {
    const before = until === undefined ? this.inits : this.inits.slice(0, this.inits.indexOf(until));
    return before.filter(({ role, isRunning }) => role === 'sidecar' && !isRunning);
  }
}

/** Whether an end is followed by another start. Init containers are repeated after a failure only. */
export function mayRestart(role: ContainerRole, restartPolicy: string, exitCode: number): boolean {
  if (role === 'sidecar') return true;
  if (restartPolicy === 'Never') return false;
  return exitCode !== 0 || (role === 'main' && restartPolicy === 'Always');
}

export function containersOf(services: KubeletServices, access: PodAccess): PodContainers {
  const { spec } = access.pod();
  const initial = (spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
  const make = (container: Container, role: ContainerRole) =>
    simulated(services, access, container, role, initial);
  return new PodContainers(
    (spec.initContainers ?? []).map((container) =>
      make(container, container.restartPolicy === 'Always' ? 'sidecar' : 'init'),
    ),
    spec.containers.map((container) => make(container, 'main')),
  );
}

function simulated(
  services: KubeletServices,
  access: PodAccess,
  spec: Container,
  role: ContainerRole,
  initial: string,
): SimulatedContainer {
  const { cluster, random, delays, images, backOff, node, listeners } = services;
  const { name, namespace = '', uid = '' } = access.pod().metadata;
  return new SimulatedContainer(
    {
      time: cluster.time,
      random,
      delays,
      images,
      backOff,
      podUid: uid,
      podTitle: `${name}_${namespace}(${uid})`,
      clock: () => services.clock(),
      make(start) {
        const pod = access.pod();
        assertUser(services, pod, spec);
        const { env, sources } = environmentOf(spec, namespace, services.sourcesOf(namespace));
        const { files = {}, sources: mounted = [] } = access.files() ?? {};
        const at = cluster.time.now;
        const record = { pod, container: spec, role, start, node, at, env, files };
        const told = { ...record, sources: [...sources, ...mounted] };
        const announce = () => {
          for (const listener of listeners) listener.onStart?.(told);
        };
        return { behaviour: services.program(told), announce };
      },
      mayRestart: (exitCode) => mayRestart(role, access.pod().spec.restartPolicy ?? 'Always', exitCode),
      whenSourcesChange: (run) => access.whenSourcesChange(run),
      changed: () => access.changed(),
      ended(start, exitCode) {
        const at = cluster.time.now;
        for (const listener of listeners)
          listener.onEnd?.({ pod: access.pod(), container: spec, role, start, node, at, exitCode });
      },
    },
    spec,
    role,
    initial,
  );
}

/** @throws ConfigError where the container would run as root and must not. */
function assertUser({ images }: KubeletServices, { spec, metadata }: Pod, container: Container): void {
  const { securityContext: own = {}, name, image = '' } = container;
  const nonRoot = own.runAsNonRoot ?? spec.securityContext?.runAsNonRoot;
  const user = own.runAsUser ?? spec.securityContext?.runAsUser;
  if (nonRoot !== true || (user !== undefined && user !== 0)) return;
  const title = `(pod: "${metadata.name}_${metadata.namespace}(${metadata.uid})", container: ${name})`;
  if (user === 0) throw new ConfigError(`container's runAsUser breaks non-root policy ${title}`);
  if (images.runsAsRoot(image)) {
    throw new ConfigError(`container has runAsNonRoot and image will run as root ${title}`);
  }
}
