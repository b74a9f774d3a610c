/**
 * Policy self-test: asks the API server, as dry runs, for a Pod and for a change of a ConfigWatcher that the admission
 * policies on the operator must refuse. An overlay that renames the policies' objects, or a cluster where they are gone,
 * would otherwise take the guard away without a sign. The operator goes on either way; an alert, an Event and its log say
 * so, and strategy Auto leaves the templates of workloads alone.
 */
import { Gauge, type Registry } from '@prometheus-io/client';
import type { ConfigWatcher } from './api/configwatcher.generated.ts';
import { configWatchers, configWatchersCom } from './api/resources.ts';
import { type Pod, pods, type Resource } from './kubernetes/objects.ts';
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
  /** Where it watches; empty: everywhere. */
  readonly namespaces: readonly string[];
  /** The operator's Pod, which the Event is about; undefined outside of a cluster. */
  readonly ownPod?: { readonly namespace: string; readonly name: string };
}

/** One policy binds changes of workloads and of ConfigWatchers; of these there may be none yet. */
const updatesNotInForce =
  "the admission policy on the operator's updates does not bind this operator: a stolen token could change any workload";

type Answer = 'refused' | 'admitted' | 'unknown';

export class PolicySelfTest implements Runnable {
  readonly name = 'policy-self-test';
  /** One replica's test is enough. */
  readonly needsLeaderElection = true;
  readonly #options: PolicySelfTestOptions;
  readonly #inForce: Gauge;
  #admitted: string | undefined;

  constructor(options: PolicySelfTestOptions) {
    this.#options = options;
    this.#inForce = new Gauge({
      name: 'atwatch_operator_policy_in_force',
      help: '1 while the admission policies refuse what the operator must not write, 0 when they admitted it, NaN before the first answer.',
      registers: [options.registry],
    });
    this.#inForce.set(Number.NaN);
  }

  /** @throws {Error} while the last test has found that a policy is not in force. */
  check(): void {
    if (this.#admitted !== undefined) throw new Error(this.#admitted);
  }

  /** Whether the last test has found nothing of that kind. */
  isInForce(): boolean {
    return this.#admitted === undefined;
  }

  async start(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!stop.aborted) {
      const ofPods = await this.#ask('operator-pods', () => this.#createPod(stop), stop);
      const ofUpdates = await this.#ask('operator-updates', () => this.#changeWatcher(stop), stop);
      if (ofPods === 'admitted') await this.#tell(notInForce, stop);
      else if (ofUpdates === 'admitted') await this.#tell(updatesNotInForce, stop);
      else if (ofPods === 'refused') await this.#tell(undefined, stop);
      const isKnown = ofPods === 'admitted' || (ofPods === 'refused' && ofUpdates !== 'unknown');
      await sleep(clock, isKnown ? period : retryPeriod, stop).catch(() => {});
    }
  }

  async #ask(policy: string, write: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { log } = this.#options;
    try {
      return await write();
    } catch (error) {
      if (isRefusalOf(policy, error)) return 'refused';
      if (!signal.aborted)
        log.debug({ err: error, policy }, 'the policy self-test got no answer of the policy');
      return 'unknown';
    }
  }

  async #createPod(signal: AbortSignal): Promise<Answer> {
    const { client, namespace } = this.#options;
    await client.create(pods, podOfNoAt(namespace), { dryRun: true, signal });
    return 'admitted';
  }

  /** Gives any ConfigWatcher a label, in whichever group there is one. */
  async #changeWatcher(signal: AbortSignal): Promise<Answer> {
    const { client } = this.#options;
    const body = { metadata: { labels: { 'atwatch-policy-self-test': 'true' } } };
    for (const resource of [configWatchers, configWatchersCom]) {
      const watcher = await this.#anyOf(resource, signal);
      if (watcher === undefined) continue;
      await client.patch(resource, watcher.metadata, { type: 'merge', body }, { dryRun: true, signal });
      return 'admitted';
    }
    return 'unknown';
  }

  /** Undefined also where the group is not served, or not for this operator. */
  async #anyOf(resource: Resource<ConfigWatcher>, signal: AbortSignal) {
    const { client, namespaces } = this.#options;
    const [namespace] = namespaces;
    try {
      const options = { ...(namespace !== undefined && { namespace }), metadataOnly: true, signal };
      const { items } = await client.list(resource, options);
      return items[0];
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  }

  async #tell(admitted: string | undefined, signal: AbortSignal): Promise<void> {
    const { client, log, ownPod, recorder } = this.#options;
    this.#inForce.set(Number(admitted === undefined));
    this.#admitted = admitted;
    if (admitted === undefined) {
      log.debug('the admission policies on the operator are in force');
      return;
    }
    log.warn(admitted);
    if (ownPod === undefined) return;
    // `kubectl describe` finds an Event by the uid. An operator of named namespaces may not read its own Pod.
    const pod = await client.get(pods, ownPod, { signal }).catch(() => ({ metadata: ownPod }));
    recorder.record(pods, pod, {
      type: 'Warning',
      reason: 'PolicyNotInForce',
      action: 'TestPolicy',
      note: admitted,
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
function isRefusalOf(policy: string, error: unknown): boolean {
  const [, name = ''] =
    /ValidatingAdmissionPolicy '([^']*)'/.exec(error instanceof ApiError ? error.message : '') ?? [];
  return name.includes(policy);
}
