// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code.
/** Planted bugs: mistakes that operators make, each as a replacement in the source. */

export interface Replacement {
  /** Below the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Replacement {
  readonly name: string;
  /** In the words of who would have made it. */
  readonly sentence: string;
  /** A second place that guards against the same mistake. */
  readonly also?: Replacement;
  /** The promise that it breaks; another one may notice it first. */
  readonly promise: string;
}

const at = {
  pending: 'src/at/decide/decide-pending.ts',
  running: 'src/at/decide/decide-running.ts',
  exactlyOnce: 'src/at/decide/exactly-once.ts',
  outcome: 'src/at/decide/outcome.ts',
  actuator: 'src/at/act/actuator.ts',
  reconciler: 'src/at/reconciler.ts',
};
const watcher = {
  change: 'src/configwatcher/decide/change.ts',
  comparison: 'src/configwatcher/decide/comparison.ts',
  pending: 'src/configwatcher/decide/pending.ts',
  groups: 'src/configwatcher/decide/pod-groups.ts',
  restart: 'src/configwatcher/decide/restart.ts',
  turn: 'src/configwatcher/decide/turn.ts',
  leftOut: 'src/configwatcher/decide/left-out.ts',
  restartWrite: 'src/configwatcher/act/restart-write.ts',
  hash: 'src/configwatcher/plan/config-hash.ts',
  store: 'src/configwatcher/act/state-store.ts',
};

const ofAt: readonly PlantedBug[] = [
  {
    name: 'random Pod name',
    sentence: 'a Pod gets a name of its own each time',
    file: 'src/at/plan/pod.ts',
    find: 'name: atPodName(at.metadata.name, attempt)',
    replace: 'name: `${atPodName(at.metadata.name, attempt)}-x${Math.random().toString(36).slice(2, 8)}`',
    promise: 'S1',
  },
  {
    name: 'foreign Pod adopted',
    sentence: 'whatever Pod has the name is taken for ours',
    file: 'src/at/facts/own-pod.ts',
    find: 'return pod !== undefined && (wasOurs || isOurs(o, pod)) && !isGated(pod) ? pod : undefined;',
    replace: 'return pod;',
    promise: 'S4',
  },
  {
    name: 'suspended At launched',
    sentence: 'suspend is not looked at',
    file: at.pending,
    find: 'if (o.at.spec.suspend === true) {',
    replace: 'if (false) {',
    promise: 'S3',
  },
  {
    name: 'canceled At launched',
    sentence: 'cancel is not looked at before the launch',
    file: at.pending,
    find: 'if (o.at.spec.cancel === true) {',
    replace: 'if (false) {',
    promise: 'S3',
  },
  {
    name: 'early by a second',
    sentence: 'whole seconds are compared',
    file: at.pending,
    find: 'if (o.now < plan.dueAt) {',
    replace: 'if (o.now < plan.dueAt - 1000) {',
    promise: 'S2',
  },
  {
    name: 'forgotten requeue',
    sentence: 'nothing wakes an At when it is due',
    file: at.pending,
    find: 'return { actions, status, events, requeueAt: plan.dueAt, priority: launchPriority };',
    replace: 'return { actions, status, events };',
    promise: 'L1',
  },
  {
    name: 'forgotten retry',
    sentence: 'a refused create is not tried again',
    file: at.pending,
    find: 'requeueAfter: Math.max(0, Math.min(o.retryDelay, deadline + 1 - o.now)),',
    replace: '',
    promise: 'L1',
  },
  {
    name: 'unbounded retry',
    sentence: 'a refused create is tried again at once',
    file: at.pending,
    find: 'requeueAfter: Math.max(0, Math.min(o.retryDelay, deadline + 1 - o.now)),',
    replace: 'requeueAfter: 1,',
    promise: 'R4',
  },
  {
    name: 'trusted cache',
    sentence: 'an At is Missed although the cache only does not show its Pod yet',
    file: at.pending,
    find: '  if (!o.live) {\n    return readLive;\n  }\n  const { podName: _, ...from }',
    replace: '  const { podName: _, ...from }',
    promise: 'R5',
  },
  {
    name: 'lost because not in the cache',
    sentence: 'a Pod that the cache does not show is lost',
    file: at.running,
    find: 'if (view === undefined && !o.live) {',
    replace: 'if (false) {',
    promise: 'R5',
  },
  {
    name: 'retry after success',
    sentence: 'every end is followed by another attempt',
    file: at.running,
    find: 'if (found.disrupted && mayRetry(o, launch, status)) {',
    replace: 'if (mayRetry(o, launch, status)) {',
    promise: 'R1',
  },
  {
    name: 'early completion',
    sentence: 'a stop counts as the end before the Pod has ended',
    file: at.running,
    find: '    return followStop(o, running, view.stop);',
    replace: '    return done(o, running.status, stoppedEnding(view.stop.reason, undefined), running);',
    promise: 'R1',
  },
  {
    name: 'failure called success',
    sentence: 'the phase of the Pod is not looked at, only that it has ended',
    file: at.outcome,
    find: "if (view.ended === 'Succeeded' || (exitCode === 0",
    replace: 'if (view.ended !== undefined || (exitCode === 0',
    promise: 'R1',
  },
  {
    name: 'deletion called failure',
    sentence: 'a command that ended with 0 is lost because its Pod was deleted later',
    file: at.outcome,
    find: "if (view.ended === 'Succeeded' || (exitCode === 0 && !isDeadlineOver)) {",
    replace:
      "if (view.pod.metadata.deletionTimestamp === undefined && (view.ended === 'Succeeded' || exitCode === 0)) {",
    promise: 'R1',
  },
  {
    name: 'surplus Pods left alone',
    sentence: 'a Pod that came too late runs on',
    file: 'src/at/decide/surplus-pods.ts',
    find: "if (!('actions' in draft)) {",
    replace: 'if (true) {',
    promise: 'L2',
  },
  {
    name: '409 taken as ours',
    sentence: 'AlreadyExists counts as created',
    file: at.actuator,
    find: 'if (isAlreadyExists(error)) return this.#lookAtExisting(observed, signal);',
    replace:
      "if (isAlreadyExists(error)) { memory.launched(at, { attempt, podName: pod.metadata.name, podUID: 'assumed', launchTime: clock.now(), launchedSpec: undefined, scheduledTime: undefined } as never); return this.#lookAtExisting(observed, signal); }",
    promise: 'S4',
  },
  {
    name: 'delete without UID',
    sentence: 'a Pod is deleted by its name alone',
    file: at.actuator,
    find: 'const preconditions = resourceVersion === undefined ? { uid } : { uid, resourceVersion };',
    replace: 'const preconditions = {};',
    promise: 'S12',
  },
  {
    name: 'status without version',
    sentence: 'a status is patched whatever was written meanwhile',
    file: 'src/at/act/status-patch.ts',
    find: 'return { metadata: { resourceVersion: at.metadata.resourceVersion }, status: changes };',
    replace: 'return { status: changes };',
    promise: 'S12',
  },
  {
    name: 'release before record',
    sentence: 'the gate is removed, and then status says which Pod it is',
    file: at.exactlyOnce,
    find: 'return { first: status, events };',
    replace: "return { actions: [{ type: 'ReleasePod', pod }], status, events };",
    promise: 'S16',
  },
  {
    name: 'record without resourceVersion',
    sentence: 'the Pod is recorded whatever was written meanwhile',
    file: 'src/at/act/status-patch.ts',
    find: 'return { metadata: { resourceVersion: at.metadata.resourceVersion }, status: changes };',
    replace:
      "return { metadata: status.phase === 'RUNNING' ? {} : { resourceVersion: at.metadata.resourceVersion }, status: changes };",
    promise: 'S12',
  },
  {
    name: 'another Pod released',
    sentence: 'the Pod at the name is released, recorded or not',
    file: 'src/at/facts/own-pod.ts',
    find: 'const pod = withUid(o.pod, podUID);',
    replace: 'const pod = o.pod;',
    also: {
      file: 'src/at/decide/surplus-pods.ts',
      find: 'return isGated(pod) ? { first: discard(o, pod) } : stopFor(o, view);',
      replace: 'return isGated(pod) ? {} : stopFor(o, view);',
    },
    promise: 'S16',
  },
  {
    name: 'let go too soon',
    sentence: 'the finalizer comes off a Pod that has ended, whether or not status says how',
    file: 'src/at/decide/surplus-pods.ts',
    find: 'return isEndRecorded(o, pod) ?',
    replace: 'return observePod(pod).ended !== undefined ?',
    promise: 'S16',
  },
  {
    name: 'finalizer forgotten',
    sentence: 'the Pods of an At that is gone stay for ever',
    file: at.reconciler,
    find: 'await letGo(client, request, orphans, signal),',
    replace: '{ released: [], isOvertaken: false },',
    promise: 'L7',
  },
  {
    name: 'errors swallowed',
    sentence: 'a failed reconcile counts as done',
    file: at.reconciler,
    find: 'throw isWaitedFor ? new RetryError(error.message, maxUnansweredDelayMs, { cause: error }) : error;',
    replace: 'return {};',
    promise: 'L1',
  },
  {
    name: 'wrong clock',
    sentence: 'the monotonic clock is taken for the time of day',
    file: at.actuator,
    find: 'const launchTime = launchTimeOf(answer, clock.now());',
    replace: 'const launchTime = clock.monotonic();',
    promise: 'R1',
  },
  {
    name: 'command in an Event',
    sentence: 'the command is told for convenience',
    file: 'src/at/decide/launch.ts',
    find: 'const note = acceptance === accepted ? event.note :',
    replace: 'const note = acceptance === accepted ? `${event.note}: ${o.at.spec.command}` :',
    promise: 'S14',
  },
  {
    name: 'failures counted twice',
    sentence: 'a failure is counted as a restart and as an end',
    file: 'src/at/decide/stop.ts',
    find: 'view.failedStarts > run.backoffLimit',
    replace: '2 * view.failedStarts > run.backoffLimit',
    promise: 'R1',
  },
  {
    name: 'status before Pod',
    sentence: 'an At is RUNNING before its Pod is created',
    file: at.actuator,
    find: "case 'CreatePod':",
    replace:
      "case 'CreatePod':\n        await this.#statuses.write({ ...observed.at.status, phase: 'RUNNING', podName: action.pod.metadata.name } as never, false, observed, context);",
    promise: 'R1',
  },
];

const ofFailures: readonly PlantedBug[] = [
  {
    name: 'turn kept',
    sentence: 'an At that is rescheduled while it waits for its turn keeps its place in the line',
    file: 'src/at/reconciler.ts',
    find: '        turns.passOn(requestKey(request));\n',
    replace: '',
    promise: 'L1',
  },
  {
    name: 'stop outlives cancel',
    sentence: 'a stop for failures on a node that does not answer is waited for whatever its user asks',
    file: 'src/at/decide/decide-running.ts',
    find: 'return reason === atReason.succeeded || o.at.spec.cancel === true || isPastDeadline(o, running);',
    replace: 'return false;',
    promise: 'L9',
  },
  {
    name: 'blame for status',
    sentence: 'the operator is to blame for a status that the API server refused',
    file: 'src/at/act/status-writer.ts',
    find: 'if (isDue(at, clock.now())) memory.heldUp(at, failedAt);',
    replace: '',
    promise: 'R2',
  },
];

const ofConfigWatcher: readonly PlantedBug[] = [
  {
    name: 'no canary',
    sentence: 'a new content is given to several owners at once',
    file: watcher.restart,
    find: 'const isCanary = strategy.canary && !proven;',
    replace: 'const isCanary = strategy.canary && proven;',
    promise: 'R3',
  },
  {
    name: 'no debounce memory',
    sentence: 'a change is acted on at once',
    file: watcher.pending,
    find: 'const delay = begins ? startDelay(spec, state, pending, now) : undefined;',
    replace: 'const delay = undefined as Wait | undefined;',
    promise: 'S7',
  },
  {
    name: 'fresh Pods restarted',
    sentence: 'the cutoff is not compared',
    file: watcher.groups,
    find: "if (cutoff === undefined || pod.created > cutoff || neverLeft(pod, staleness)) return 'fresh';",
    replace: "if (cutoff === undefined) return 'fresh';",
    promise: 'S7',
  },
  {
    name: 'cutoff from now on',
    sentence: 'the cutoff follows the newest Pod at each look',
    file: watcher.change,
    find: '      ...(pending && { pending: { ...pending, hash } }),',
    replace: '      ...(pending && { pending: { ...pending, hash, cutoff: now } }),',
    promise: 'S7',
  },
  {
    name: 'Pods made in between forgotten',
    sentence: 'back to the applied content means that nothing is owed',
    file: watcher.change,
    find: 'if (!isReturn || !pods || hasStalePods(edit.state, pods, spec)) return edit;',
    replace: 'if (!isReturn) return edit;',
    promise: 'R3',
  },
  {
    name: 'rollout for no stale Pod',
    sentence: 'a template is changed for an owner whose Pods are fresh',
    file: watcher.turn,
    find: '  if (group.stale.length === 0) return noTurn;\n',
    replace: '',
    also: {
      file: 'src/configwatcher/decide/restart.ts',
      find: 'if (group.stale.length === 0 || yields || turn.held) return false;',
      replace: 'if (yields || turn.held) return false;',
    },
    promise: 'S7',
  },
  {
    name: 'metadata counts',
    sentence: 'the whole object is hashed',
    file: watcher.hash,
    find: "feed(digest, content ? 'present' : 'absent');",
    replace: "feed(digest, content ? JSON.stringify(content) : 'absent');",
    promise: 'S8',
  },
  {
    name: 'keys ignored',
    sentence: 'a key that does not count restarts, too',
    file: watcher.hash,
    find: 'const counts = (key: string) => keys.length === 0 || keys.includes(key);',
    replace: 'const counts = (key: string) => key !== undefined;',
    promise: 'S9',
  },
  {
    name: 'baseline forgotten',
    sentence: 'a source that is seen first counts as changed',
    file: watcher.comparison,
    find: '.filter(({ entry, hash, content }) => entry && holds(entry, hash, content))',
    replace: '.filter(({ entry, hash, content }) => !entry || holds(entry, hash, content))',
    promise: 'S9',
  },
  {
    name: 'budget passed by',
    sentence: 'a Pod is deleted instead of evicted',
    file: watcher.restartWrite,
    find: 'client.evict({ namespace, name }, { uid, signal })',
    replace: 'client.delete(pods, { namespace, name }, { uid, signal })',
    promise: 'S15',
  },
  {
    name: 'eviction without UID',
    sentence: 'a Pod is evicted by its name alone',
    file: watcher.restartWrite,
    find: 'client.evict({ namespace, name }, { uid, signal })',
    replace: 'client.evict({ namespace, name }, { signal } as never)',
    promise: 'S12',
  },
  {
    name: 'all at once',
    sentence: 'maxUnavailable is not looked at',
    file: watcher.turn,
    find: '...lineOf(line, input).slice(0, room)];',
    replace: '...lineOf(line, input)];',
    promise: 'R3',
  },
  {
    name: 'blind PUT',
    sentence: 'a status is replaced without its version',
    file: watcher.store,
    find: 'this.#client.updateStatus(this.#resource, { ...watcher, status }, { signal });',
    replace:
      'this.#client.updateStatus(this.#resource, { ...watcher, metadata: { ...watcher.metadata, resourceVersion: undefined }, status } as never, { signal });',
    promise: 'S12',
  },
  {
    name: 'stuck for ever',
    sentence: 'an owner whose template could not be changed before its deadline is not tried again',
    file: watcher.restart,
    find: 'if (stall && turn.due.length === 0 && !turn.rollout) return false;',
    replace: 'if (stall && turn.due.length === 0) return false;',
    promise: 'L8',
  },
  {
    name: 'left out in silence',
    sentence: 'an edit of the selector forgets what was owed to the Pods that it leaves out',
    file: watcher.leftOut,
    find: "if (!formerPods) return 'formerPods';",
    replace: 'if (!formerPods) return { state: withSelector(state, pending, selector), left: 0 };',
    promise: 'R3',
  },
  {
    name: 'selector ignored',
    sentence: 'one matching label is enough',
    file: 'src/configwatcher/plan/selector.ts',
    find: 'return printLabelSelector(labelRequirements(selector));',
    replace: 'return Object.keys(selector.matchLabels ?? {}).join();',
    promise: 'S10',
  },
  {
    name: 'kept for good',
    sentence: 'a ConfigWatcher that was made for a workload stays when its annotation is taken away',
    file: 'src/annotated-workloads/decide/decide.ts',
    find: "isOwn ? { type: 'Delete', watcher } : undefined",
    replace: 'undefined',
    promise: 'L10',
  },
];

const ofRuntime: readonly PlantedBug[] = [
  {
    name: 'gate not asked',
    sentence: 'a process that has lost the Lease goes on writing',
    file: 'src/runtime/client/transport.ts',
    find: "if (method !== 'GET' && !ungated) this.#options.gate?.assertMayWrite();",
    replace: '',
    promise: 'S11',
  },
  {
    name: 'lease stolen',
    sentence: 'a Lease is taken although it has not expired',
    file: 'src/runtime/leader/leader-elector.ts',
    find: 'const free = this.#clock.monotonic() >= this.#observation.expiresAt;',
    replace: 'const free = this.#clock.monotonic() >= 0;',
    promise: 'S11',
  },
  {
    name: '410 ignored',
    sentence: 'an expired version is tried again and again',
    file: 'src/runtime/cache/recovery.ts',
    find: '    if (mustReload(error)) {',
    replace: '    if (mustReload(error) && error === undefined) {',
    promise: 'L1',
  },
  {
    name: 'lost delete',
    sentence: 'a deleted object stays in the cache',
    file: 'src/runtime/cache/own-writes.ts',
    find: "    if (pending !== undefined) this.#pending.delete(keyOf(metadata));\n    this.#store.delete(metadata.namespace ?? '', metadata.name);",
    replace: '    if (pending !== undefined) this.#pending.delete(keyOf(metadata));',
    promise: 'L2',
  },
  {
    name: 'failure ends the process',
    sentence: 'an error of one reconcile is left to whatever called it',
    file: 'src/runtime/controller/outcome.ts',
    find: "return error instanceof TerminalError ? { kind: 'terminal', error } : { kind: 'error', error };",
    replace: "if (error instanceof TerminalError) return { kind: 'terminal', error };\n    throw error;",
    promise: 'S17',
  },
];

export const plantedBugs: readonly PlantedBug[] = [...ofAt, ...ofFailures, ...ofConfigWatcher, ...ofRuntime];
