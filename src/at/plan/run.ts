/**
 * Run: the terms under which a command was launched. They are written on its Pod, because the spec may be
 * edited between the creation of the Pod and the first status that makes it immutable, and an edit that
 * comes after the Pod changes nothing.
 */
import { hash } from 'node:crypto';
import { type At, atSpecDefaults } from '../../api/at.generated.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import { firstInstant, formatMilliTime, lastInstant, parseTime } from '../../kubernetes/time.ts';
import { resolveSchedule } from './schedule.ts';
import { parseJson } from './template.ts';

export interface Run {
  /** Epoch milliseconds; undefined when neither Pod, status nor spec tells it. */
  readonly scheduledTime: number | undefined;
  readonly backoffLimit: number;
  /** 0: no limit. */
  readonly pendingTimeoutSeconds: number;
  readonly activeDeadlineSeconds: number | undefined;
  /** {@link specHash} of the At as it was launched; undefined when the Pod does not tell it. */
  readonly launchedSpec: string | undefined;
  /** metadata.generation of the At that the Pod was made from; only Pods of ExactlyOnce tell it. */
  readonly generation: number | undefined;
  /** The operator's default image, where the Pod was made with it. */
  readonly defaultImage: string | undefined;
}

/** Begins the names of the annotations that this operator writes and reads. */
export const ownPrefix = 'cnat.programming-kubernetes.info/';

/** The Pod's annotation that holds the run, as JSON. */
export const runAnnotation = `${ownPrefix}run`;

/** What the schema of an At takes for a time limit. */
const maxSeconds = 1_000_000_000;

/**
 * The value of {@link runAnnotation} for a Pod of this At.
 *
 * @param made `container`: the name of the main container, which is what {@link mainContainerName} finds.
 *   `defaultImage`: the operator's, where neither spec nor template names one.
 */
export function formatRun(
  at: At,
  scheduledTime: number | undefined,
  made: { readonly container: string | undefined; readonly defaultImage?: string | undefined },
): string {
  const { spec } = at;
  return JSON.stringify({
    ...(scheduledTime === undefined ? {} : { scheduledTime: formatMilliTime(scheduledTime) }),
    backoffLimit: spec.backoffLimit,
    pendingTimeoutSeconds: spec.pendingTimeoutSeconds,
    activeDeadlineSeconds: spec.activeDeadlineSeconds,
    launchedSpec: specHash(at),
    ...(isExactlyOnce(at) ? { generation: at.metadata.generation } : {}),
    ...made,
  });
}

/** AtMostOnce is the deprecated name of ExactlyOnce. */
export function isExactlyOnce({ spec: { launchGuarantee } }: At): boolean {
  return launchGuarantee === 'ExactlyOnce' || launchGuarantee === 'AtMostOnce';
}

/**
 * A short name of what a Pod is made from, and whether others may follow: an edit that changes it changes what the
 * spec asks to be run. When it runs is not part of it. (The API server sorts the fields of a template.)
 */
export function specHash({ spec }: At): string {
  const { command, argv, shell, image, template, disruptionPolicy } = spec;
  const { backoffLimit, pendingTimeoutSeconds, activeDeadlineSeconds } = spec;
  const terms = [backoffLimit, pendingTimeoutSeconds, activeDeadlineSeconds, disruptionPolicy];
  return hash('sha256', JSON.stringify([command, argv, shell, image, template, terms])).slice(0, 16);
}

/**
 * A short name of all in the Pod that admission may say something about: Ats that share it fare alike in one namespace.
 * The guarantee decides on gate and finalizer, backoffLimit on the restartPolicy, and a deadline on the scope of a quota.
 */
export function admissionHash(at: At): string {
  const { template, image, backoffLimit, activeDeadlineSeconds, pendingTimeoutSeconds } = at.spec;
  const deadline = activeDeadlineSeconds === undefined ? [] : [activeDeadlineSeconds, pendingTimeoutSeconds];
  const terms = [isExactlyOnce(at), backoffLimit === 0, deadline];
  return hash('sha256', JSON.stringify([template, image, terms])).slice(0, 16);
}

/**
 * The run that the Pod was made for. Without a Pod, or for one without the annotation (another
 * implementation of this API may have made it), the spec and the status say it.
 */
export function runOf(at: At, pod: Pod | undefined): Run {
  const written = parseJson(pod?.metadata.annotations?.[runAnnotation]);
  // What is not there was not asked for; what is there and makes no sense is not believed.
  const term = (
    field: 'backoffLimit' | 'pendingTimeoutSeconds' | 'activeDeadlineSeconds',
    min: number,
    max: number,
  ) => {
    const ofSpec = written !== undefined && written[field] === undefined ? undefined : at.spec[field];
    return [written?.[field], ofSpec].find((value) => isWithin(value, min, max));
  };
  const { backoffLimit, pendingTimeoutSeconds } = atSpecDefaults;
  return {
    scheduledTime: timeOf(written?.scheduledTime) ?? timeOf(at.status?.scheduledTime) ?? specifiedTime(at),
    backoffLimit: term('backoffLimit', 0, 100) ?? backoffLimit,
    pendingTimeoutSeconds: term('pendingTimeoutSeconds', 0, maxSeconds) ?? pendingTimeoutSeconds,
    activeDeadlineSeconds: term('activeDeadlineSeconds', 1, maxSeconds),
    launchedSpec: typeof written?.launchedSpec === 'string' ? written.launchedSpec : undefined,
    generation: typeof written?.generation === 'number' ? written.generation : undefined,
    defaultImage: isImage(written?.defaultImage) ? written.defaultImage : undefined,
  };
}

/**
 * The main container was the first one when the Pod was sent; since then admission may have put sidecars before it,
 * hence the annotation. Where that names no container of the Pod, the first one is the best guess.
 */
export function mainContainerName({ metadata, spec }: Pod): string | undefined {
  const written = parseJson(metadata.annotations?.[runAnnotation])?.container;
  const main = spec.containers.find(({ name }) => name === written) ?? spec.containers[0];
  return main?.name;
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** What status takes. */
function isImage(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 1024;
}

function specifiedTime({ spec }: At): number | undefined {
  const instant = resolveSchedule(spec.schedule, spec.timeZone);
  return typeof instant === 'number' ? instant : undefined;
}

function timeOf(text: unknown): number | undefined {
  const time = typeof text === 'string' ? parseTime(text) : Number.NaN;
  return time >= firstInstant && time <= lastInstant ? time : undefined;
}
