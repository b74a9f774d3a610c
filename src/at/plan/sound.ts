/**
 * Sound: an At as its types promise it. A lax CRD, an older version or a hand may have stored what no schema of
 * ours lets in; of such an object the rest counts, as if what is of another type had never been written.
 */
import type { At, AtSpec, AtStatus } from '../../api/at.generated.ts';
import { atOutcome, atPhase } from '../../api/at-constants.ts';
import { isJson } from './template.ts';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => Number.isFinite(value);

const isConditions: Check = (value) => {
  const texts = ['type', 'status', 'reason', 'message', 'lastTransitionTime'];
  return (
    Array.isArray(value) && value.every((one) => isJson(one) && texts.every((text) => isText(one[text])))
  );
};

const isHistory: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (one) =>
      isJson(one) &&
      [one.attempt, one.restarts].every(isNumber) &&
      [one.podName, one.podUID, one.launchTime, one.completionTime, one.reason].every(isText),
  );

const checks: { readonly [Field in keyof Required<AtStatus>]: Check } = {
  phase: (value) => Object.values(atPhase).some((phase) => phase === value),
  outcome: (value) => Object.values(atOutcome).some((outcome) => outcome === value),
  reason: isText,
  message: isText,
  observedGeneration: isNumber,
  scheduledTime: isText,
  podName: isText,
  podUID: isText,
  attempts: isNumber,
  launchTime: isText,
  startTime: isText,
  completionTime: isText,
  latenessMilliseconds: isNumber,
  operatorDelaySeconds: isNumber,
  exitCode: isNumber,
  restarts: isNumber,
  history: isHistory,
  operatorDefaults: isJson,
  conditions: isConditions,
};

/** The same object when nothing is wrong with it. A spec that is none is an empty one, which planOf refuses. */
export function sound(at: At): At {
  const spec = isJson(at.spec) ? at.spec : ({} as AtSpec);
  const status = soundStatus(at.status);
  if (spec === at.spec && status === at.status) return at;
  const { status: _, ...rest } = at;
  return { ...rest, spec, ...(status && { status }) };
}

function soundStatus(status: unknown): AtStatus | undefined {
  if (!isJson(status)) return undefined;
  const isSound = ([field, value]: [string, unknown]) =>
    !Object.hasOwn(checks, field) || checks[field as keyof AtStatus](value);
  const fields = Object.entries(status);
  return fields.every(isSound) ? status : Object.fromEntries(fields.filter(isSound));
}
