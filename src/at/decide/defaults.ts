/**
 * Defaults: what the operator was started with for fields that an At leaves open. What has applied to an At stands in its
 * status and holds from then on, also for an operator that was started with something else.
 */
import type { AtStatus } from '../../api/at.generated.ts';
import type { AtDefaults, Observed } from '../facts/observed.ts';

/** The value of the At itself, else the default that has applied to it, else today's. */
export function effective<Field extends keyof AtDefaults>(
  { at, defaults }: Observed,
  field: Field,
): AtDefaults[Field] | undefined {
  return at.spec[field] ?? at.status?.operatorDefaults?.[field] ?? defaults?.[field];
}

/** After which an At that is due then is not launched any more, epoch milliseconds; infinite for never. */
export function startingDeadline(o: Observed, dueAt: number): number {
  return dueAt + (effective(o, 'startingDeadlineSeconds') ?? Number.POSITIVE_INFINITY) * 1000;
}

/** The image of containers that name none; of a later attempt that of the first. Undefined: the API's own. */
export function imageFor({ at, defaults }: Observed, attempt: number): string | undefined {
  return attempt === 1 ? defaults?.image : at.status?.operatorDefaults?.image;
}

/** The status with those of these fields that the At leaves open, as they apply to it. */
export function withDefaults(
  o: Observed,
  status: AtStatus,
  fields: readonly Exclude<keyof AtDefaults, 'image'>[],
): AtStatus {
  const applied = fields.flatMap((field) => {
    const value = o.at.spec[field] === undefined ? effective(o, field) : undefined;
    // By the API's default the output is in status, too.
    return value === undefined || value === true ? [] : [[field, value]];
  });
  return withApplied(status, Object.fromEntries(applied));
}

/** The status with the default image that its Pod was made with; undefined: with none. */
export function withImage(status: AtStatus, image: string | undefined): AtStatus {
  return withApplied(status, image === undefined ? {} : { image });
}

function withApplied(status: AtStatus, applied: NonNullable<AtStatus['operatorDefaults']>): AtStatus {
  const operatorDefaults = { ...applied, ...status.operatorDefaults };
  return Object.keys(operatorDefaults).length === 0 ? status : { ...status, operatorDefaults };
}
