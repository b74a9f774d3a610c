/**
 * Policy self-test: asks the API server, as a dry run, for a Pod that the admission policy on the operator's Pods must
 * refuse. An overlay that renames the policy's objects, or a cluster where the policy is gone, would otherwise take the
 * guard away without a sign. The operator goes on either way; an alert, an Event and its log say so.
 */
import { Gauge, type Registry } from '@prometheus-io/client';
import { type Pod, pods } from './kubernetes/objects.ts';
import { ApiError } from './runtime/client/api-error.ts';
import type { Client } from './runtime/client/client.ts';
import { type Clock, sleep } from './runtime/clock.ts';
import type { Runnable } from './runtime/controller/runnable.ts';
import type { EventRecorder } from './runtime/events/event-recorder.ts';
import type { Logger } from './runtime/logger.ts';

/** Milliseconds between two tests. */
const period = 3_600_000;
/** Milliseconds until the next one when an answer says nothing about the policy. */
const retryPeriod = 60_000;

const notInForce =
  "the admission policy on the operator's Pods does not bind this operator: a stolen token could create any Pod";

export interface PolicySelfTestOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly registry: Registry;
  /** Where the operator may create Pods. */
  readonly namespace: string;
  /** The operator's Pod, which the Event is about; undefined outside of a cluster. */
  readonly ownPod?: { readonly namespace: string; readonly name: string };
}

type Answer = 'refused' | 'admitted' | 'unknown';

export class PolicySelfTest implements Runnable {
  readonly name = 'policy-self-test';
  /** One replica's test is enough. */
  readonly needsLeaderElection = true;
  readonly #options: PolicySelfTestOptions;
  readonly #inForce: Gauge;
  #wasAdmitted = false;

  constructor(options: PolicySelfTestOptions) {
    this.#options = options;
    this.#inForce = new Gauge({
      name: 'atwatch_operator_policy_in_force',
      help: "1 while the admission policy refuses the operator's Pods that are no At's, 0 when it admitted one, NaN before the first answer.",
      registers: [options.registry],
    });
    this.#inForce.set(Number.NaN);
  }

  /** @throws {Error} while the last test has found that the policy is not in force. */
  check(): void {
    if (this.#wasAdmitted) throw new Error(notInForce);
  }

  async start(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!stop.aborted) {
      const answer = await this.#ask(stop);
      if (answer !== 'unknown') await this.#tell(answer === 'refused', stop);
      await sleep(clock, answer === 'unknown' ? retryPeriod : period, stop).catch(() => {});
    }
  }

  async #ask(signal: AbortSignal): Promise<Answer> {
    const { client, log, namespace } = this.#options;
    try {
      await client.create(pods, podOfNoAt(namespace), { dryRun: true, signal });
      return 'admitted';
    } catch (error) {
      if (isRefusalOfThePolicy(error)) return 'refused';
      if (!signal.aborted) log.debug({ err: error }, 'the policy self-test got no answer of the policy');
      return 'unknown';
    }
  }

  async #tell(inForce: boolean, signal: AbortSignal): Promise<void> {
    const { client, log, ownPod, recorder } = this.#options;
    this.#inForce.set(Number(inForce));
    this.#wasAdmitted = !inForce;
    if (inForce) {
      log.debug("the admission policy on the operator's Pods is in force");
      return;
    }
    log.warn(notInForce);
    if (ownPod === undefined) return;
    // `kubectl describe` finds an Event by the uid. An operator of named namespaces may not read its own Pod.
    const pod = await client.get(pods, ownPod, { signal }).catch(() => ({ metadata: ownPod }));
    recorder.record(pods, pod, {
      type: 'Warning',
      reason: 'PolicyNotInForce',
      action: 'TestPolicy',
      note: notInForce,
    });
  }
}

/** Fits Pod Security "restricted", so that nothing but the policy refuses it for what it is. */
function podOfNoAt(namespace: string): Pod {
  return {
    metadata: { namespace, name: 'atwatch-policy-self-test' },
    spec: {
      securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'test',
          image: 'busybox',
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

/** By the name of the policy, which an overlay gives a prefix or a suffix. */
function isRefusalOfThePolicy(error: unknown): boolean {
  return error instanceof ApiError && /ValidatingAdmissionPolicy '[^']*operator-pods/.test(error.message);
}
