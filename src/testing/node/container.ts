/**
 * Simulated container: from the first pull of its image through starts, back-offs and ends, as a kubelet
 * leads it and as the status of its Pod shows it.
 */
import type { ContainerState, ContainerStateTerminated } from '../../kubernetes/objects.ts';
import { formatTime } from '../../kubernetes/time.ts';
import { delayWithin } from '../cluster-ports.ts';
import type { Container, ContainerStatus } from '../objects.ts';
import type { ContainerHost } from './container-host.ts';
import { ContainerProcess } from './container-process.ts';
import { ConfigError } from './container-sources.ts';
import type { Behaviour, ContainerRole } from './program.ts';

export class SimulatedContainer {
  readonly spec: Container;
  readonly role: ContainerRole;
  readonly #host: ContainerHost;
  #state: ContainerState;
  #last: ContainerStateTerminated | undefined;
  #behaviour: Behaviour = {};
  #starts = 0;
  #ready = false;
  /** When it ended last, true time. */
  #finished: number | undefined;
  #startedAt = 0;
  /** What the kubelet has begun for it and not finished: a pull, a back-off, a start. */
  #pending: { cancel(): void } | undefined;
  /** It waits for something that no time brings. */
  #stuck = false;
  #process: ContainerProcess | undefined;

  constructor(host: ContainerHost, spec: Container, role: ContainerRole, initial: string) {
    this.#host = host;
    this.spec = spec;
    this.role = role;
    this.#state = { waiting: { reason: initial } };
  }

  get isRunning(): boolean {
    return this.#state.running !== undefined;
  }

  /** Its last end, if it does not run. */
  get ended(): ContainerStateTerminated | undefined {
    return this.isRunning ? undefined : (this.#state.terminated ?? this.#last);
  }

  get status(): ContainerStatus {
    const { name, image = '' } = this.spec;
    return {
      name,
      image,
      imageID: this.#starts > 0 ? this.#host.images.idOf(image) : '',
      ...(this.#starts > 0 && { containerID: `containerd://${this.#host.podUid}-${name}-${this.#starts}` }),
      ready: this.#ready,
      started: this.isRunning,
      restartCount: Math.max(0, this.#starts - 1),
      state: this.#state,
      lastState: this.#last === undefined ? {} : { terminated: this.#last },
    };
  }

  /** Has it started, unless it runs or something is under way. */
  begin(): void {
    if (this.isRunning || this.#pending !== undefined || this.#stuck) return;
    const { time, backOff } = this.#host;
    const wait =
      this.#finished === undefined
        ? 0
        : this.#finished + backOff.delayAfter(this.#key, this.#finished) - time.now;
    if (wait <= 0) {
      this.#pull();
      return;
    }
    const settle = Math.min(wait, this.#draw([200, 1500]));
    this.#then(settle, () => {
      const seconds = backOff.delayAfter(this.#key, this.#finished ?? 0) / 1000;
      this.#then(wait - settle, () => this.#pull());
      this.#wait('CrashLoopBackOff', `back-off ${duration(seconds)} restarting failed ${this.#title}`);
    });
  }

  /** Gives up what is under way; a running process is not touched. */
  abandon(): void {
    this.#pending?.cancel();
    this.#pending = undefined;
    this.#stuck = false;
  }

  /** SIGTERM, and SIGKILL after the grace, in ms. A later call can only shorten it. */
  stop(grace: number): void {
    this.abandon();
    this.#process?.stop(grace);
  }

  /** Ends without a signal that it could answer, as at a loss of power. */
  die(exitCode: number, reason: string): void {
    this.abandon();
    this.#process?.exit(exitCode, reason);
  }

  /** What a Pod's end makes of a container that has no end of its own. */
  markLost(): void {
    if (this.isRunning || this.#state.terminated !== undefined) return;
    const message = 'The container could not be located when the pod was terminated';
    this.#state = {
      terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message },
    };
  }

  get #key(): string {
    return `${this.#host.podUid}/${this.spec.name}`;
  }

  get #title(): string {
    return `container=${this.spec.name} pod=${this.#host.podTitle}`;
  }

  #pull(): void {
    const { images, backOff, time } = this.#host;
    const { image = '' } = this.spec;
    const pull = images.pull(this.spec);
    if (pull.kind === 'invalid') {
      this.#stuck = true;
      this.#wait(
        'InvalidImageName',
        `Failed to apply default image tag "${image}": couldn't parse image name`,
      );
      return;
    }
    if (pull.kind === 'pulled') {
      this.#then(pull.delay + this.#draw(this.#host.delays.start), () => this.#start());
      return;
    }
    this.#then(pull.delay, () => {
      const key = `${this.#key}/image`;
      backOff.next(key, time.now);
      this.#then(this.#draw(this.#host.delays.settle), () => {
        this.#then(backOff.delayAfter(key, time.now), () => this.#pull());
        this.#wait('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: not found`);
      });
      this.#wait('ErrImagePull', `failed to pull and unpack image "${image}": not found`);
    });
  }

  #start(): void {
    const { time, backOff } = this.#host;
    let made: { behaviour: Behaviour; announce: () => void };
    try {
      made = this.#host.make(this.#starts + 1);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#stuck = true;
      this.#host.whenSourcesChange(() => {
        this.#stuck = false;
        this.begin();
      });
      this.#wait('CreateContainerConfigError', error.message);
      return;
    }
    if (this.#finished !== undefined) backOff.next(this.#key, time.now);
    this.#starts++;
    this.#behaviour = made.behaviour;
    this.#last = this.#state.terminated ?? this.#last;
    const { startError } = made.behaviour;
    if (startError !== undefined) {
      this.#refuseStart(startError);
      return;
    }
    this.#run();
    made.announce();
    this.#host.changed();
  }

  #run(): void {
    const { time, clock } = this.#host;
    this.#startedAt = clock();
    this.#state = { running: { startedAt: formatTime(this.#startedAt) } };
    const probed = this.spec.readinessProbe !== undefined || this.#behaviour.readyAfter !== undefined;
    this.#ready = !probed;
    this.#process = new ContainerProcess(time, this.#behaviour, probed, {
      ready: () => this.#becomeReady(),
      exited: (exitCode, reason) => this.#exited(exitCode, reason),
    });
  }

  #becomeReady(): void {
    this.#ready = true;
    this.#host.changed();
  }

  #refuseStart(message: string): void {
    const finishedAt = formatTime(this.#host.clock());
    const startedAt = '1970-01-01T00:00:00Z';
    const terminated = { exitCode: 128, reason: 'StartError', message, startedAt, finishedAt };
    this.#finished = this.#host.time.now;
    if (this.#host.mayRestart(terminated.exitCode)) {
      this.#last = terminated;
      this.#state = { waiting: { reason: 'RunContainerError', message } };
    } else this.#state = { terminated };
    this.#host.changed();
  }

  #exited(exitCode: number, reason: string | undefined): void {
    this.#process = undefined;
    const { log } = this.#behaviour;
    const says = exitCode !== 0 && this.spec.terminationMessagePolicy === 'FallbackToLogsOnError' && log;
    this.#state = {
      terminated: {
        exitCode,
        reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
        ...(says && { message: lastOf(says) }),
        startedAt: formatTime(this.#startedAt),
        finishedAt: formatTime(this.#host.clock()),
      },
    };
    this.#ready = false;
    this.#finished = this.#host.time.now;
    this.#host.ended(this.#starts, exitCode);
    this.#host.changed();
  }

  #wait(reason: string, message: string): void {
    this.#last = this.#state.terminated ?? this.#last;
    this.#state = { waiting: { reason, message } };
    this.#host.changed();
  }

  #then(delay: number, run: () => void): void {
    this.#pending = this.#host.time.schedule(delay, () => {
      this.#pending = undefined;
      run();
    });
  }

  #draw(bounds: readonly [number, number]): number {
    return delayWithin(this.#host.random, bounds);
  }
}

/** As Go prints it: `10s`, `2m40s`. */
function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds - minutes * 60}s`;
}

/** The last 2 KiB and 80 lines. */
function lastOf(log: string): string {
  return log.split('\n').slice(-81).join('\n').slice(-2048);
}
