/** Pod status: what a kubelet reports about a Pod. Pure. */
import type { PodCondition, PodPhase } from '../../kubernetes/objects.ts';
import { formatTime } from '../../kubernetes/time.ts';
import type { ContainerStatus, Pod, PodStatus } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';

/** Why a Pod was ended by the kubelet. */
export interface PodEnd {
  readonly reason: string;
  readonly message: string;
  readonly condition?: Omit<PodCondition, 'lastTransitionTime'>;
}

export interface PodReport {
  /** As the API server has it: what others wrote into its status stays. */
  readonly pod: Pod;
  readonly phase: PodPhase;
  readonly inits: readonly ContainerStatus[];
  readonly mains: readonly ContainerStatus[];
  /** Epoch ms, of the kubelet's clock. */
  readonly startTime: number | undefined;
  readonly now: number;
  /** Volumes and network are there. */
  readonly hasSandbox: boolean;
  readonly initialized: boolean;
  readonly end: PodEnd | undefined;
  readonly hostIP: string;
  readonly podIP: string | undefined;
}

type Fact = Omit<PodCondition, 'lastTransitionTime'>;

export function statusOf(report: PodReport): PodStatus {
  const { pod, phase, inits, mains, startTime, hostIP, podIP } = report;
  const { reason, message, ...before } = pod.status ?? {};
  return {
    ...before,
    ...cause(report),
    phase,
    conditions: conditionsOf(report),
    hostIP,
    ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }),
    ...(startTime !== undefined && { startTime: formatTime(startTime) }),
    ...(inits.length > 0 && { initContainerStatuses: inits }),
    containerStatuses: mains,
  };
}

/** Reason and message: of the kubelet's own end, else what stands there for the same phase. */
function cause({ pod, phase, end }: PodReport): Pick<PodStatus, 'reason' | 'message'> {
  if (isEnded(phase) && end) return { reason: end.reason, message: end.message };
  const { status = {} } = pod;
  if (phase !== status.phase) return {};
  return {
    ...(status.reason !== undefined && { reason: status.reason }),
    ...(status.message !== undefined && { message: status.message }),
  };
}

function conditionsOf(report: PodReport): readonly PodCondition[] {
  const { pod, phase, end, now } = report;
  const present = pod.status?.conditions ?? [];
  const own: PodCondition[] = [];
  for (const fact of [...facts(report), ...(isEnded(phase) && end?.condition ? [end.condition] : [])]) {
    own.push(
      ...withCondition(
        present.filter(({ type }) => type === fact.type),
        fact,
        formatTime(now),
      ),
    );
  }
  return [...own, ...present.filter(({ type }) => own.every((condition) => condition.type !== type))];
}

function isEnded(phase: PodPhase): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

function facts(report: PodReport): readonly Fact[] {
  const { hasSandbox, initialized, phase, pod, inits, mains } = report;
  const sandbox = { type: 'PodReadyToStartContainers', status: truth(hasSandbox && !isEnded(phase)) };
  const containersReady = readiness(phase, [...sidecars(pod, inits), ...mains]);
  const open = (pod.spec.readinessGates ?? []).filter(
    ({ conditionType }) => !isTrue(pod.status?.conditions, conditionType),
  );
  const gated =
    containersReady.status === 'True' && open.length > 0
      ? {
          status: 'False',
          reason: 'ReadinessGatesNotReady',
          message: `corresponding condition of pod readiness gate "${open[0]?.conditionType}" does not exist.`,
        }
      : containersReady;
  return [
    sandbox,
    initialization(report, initialized),
    { type: 'Ready', ...gated },
    { type: 'ContainersReady', ...containersReady },
  ];
}

function initialization({ phase, inits, pod }: PodReport, initialized: boolean): Fact {
  if (phase === 'Succeeded') return { type: 'Initialized', status: 'True', reason: 'PodCompleted' };
  if (initialized) return { type: 'Initialized', status: 'True' };
  const open = (pod.spec.initContainers ?? [])
    .map(({ name }) => inits.find((status) => status.name === name))
    .filter((status) => status?.state?.terminated?.exitCode !== 0)
    .map((status) => status?.name);
  return {
    type: 'Initialized',
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${open.join(' ')}]`,
  };
}

function readiness(phase: PodPhase, containers: readonly ContainerStatus[]): Omit<Fact, 'type'> {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const unready = containers.filter(({ ready }) => ready !== true).map(({ name }) => name);
  if (unready.length === 0) return { status: 'True' };
  const message = `containers with unready status: [${unready.join(' ')}]`;
  return { status: 'False', reason: 'ContainersNotReady', message };
}

function sidecars({ spec }: Pod, inits: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const names = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return inits.filter(({ name }) => names.some((container) => container.name === name));
}

function isTrue(conditions: readonly PodCondition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

function truth(value: boolean): string {
  return value ? 'True' : 'False';
}

/** As a merge patch of the status: the fields that differ, and `null` for those that are gone. */
export function statusPatch(
  before: PodStatus | undefined,
  after: PodStatus,
  isSame: (a: unknown, b: unknown) => boolean,
): Record<string, unknown> | undefined {
  const old: Readonly<Record<string, unknown>> = { ...before };
  const next: Readonly<Record<string, unknown>> = { ...after };
  const patch: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(old), ...Object.keys(next)])) {
    if (!isSame(old[field], next[field])) patch[field] = next[field] ?? null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
