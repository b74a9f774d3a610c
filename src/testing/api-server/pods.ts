/**
 * Strategy of Pods: defaults, scheduling gates, graceful deletion, and the few changes that a spec allows.
 */
import { type FieldError, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from './failure.ts';
import { equalJson, isJsonObject, type JsonObject } from './json-value.ts';
import { labelNameErrors } from './metadata-rules.ts';
import { defaultedPodSpec, listOf, qosClassOf } from './pod-defaults.ts';
import { decodedPod } from './pod-fields.ts';
import type { AnyObject, Strategy, StrategyContext } from './strategy.ts';

const immutable =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

export const podStrategy: Strategy = {
  decode: decodedPod,
  prepare(object, old, context) {
    if (old === undefined) return created(object, context);
    if (context.subresource === 'status') return withQosClass(object, old);
    return isJsonObject(object.spec) ? { ...object, spec: defaultedPodSpec(object.spec) } : object;
  },
  validate({ spec }, old, { subresource }) {
    if (subresource === 'status') return [];
    if (!isJsonObject(spec)) return [requiredValue('spec.containers')];
    return old === undefined ? specErrors(spec) : changeErrors(spec, specOf(old));
  },
  gracePeriod(object, requested) {
    const { nodeName, terminationGracePeriodSeconds = 30 } = specOf(object);
    const phase = phaseOf(object);
    if (!nodeName || phase === 'Succeeded' || phase === 'Failed') return 0;
    return requested ?? Number(terminationGracePeriodSeconds);
  },
};

export function specOf({ spec }: AnyObject): JsonObject {
  return isJsonObject(spec) ? spec : {};
}

export function phaseOf({ status }: AnyObject): unknown {
  return isJsonObject(status) ? status.phase : undefined;
}

/** A Pod in whose status this condition replaces the one of its type. */
export function withCondition(pod: AnyObject, condition: { readonly type: string }): AnyObject {
  const status = isJsonObject(pod.status) ? pod.status : {};
  const others = listOf(status.conditions).filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...status, conditions: [...others, condition] } };
}

function created(object: AnyObject, { now }: StrategyContext): AnyObject {
  const spec = defaultedPodSpec(specOf(object));
  const pod = { ...object, spec, status: { phase: 'Pending', qosClass: qosClassOf(spec) } };
  if (listOf(spec.schedulingGates).length === 0) return pod;
  return withCondition(pod, {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  } as { type: string });
}

function withQosClass(object: AnyObject, old: AnyObject): AnyObject {
  const status = isJsonObject(object.status) ? object.status : {};
  const qosClass = isJsonObject(old.status) ? old.status.qosClass : undefined;
  return qosClass === undefined ? object : { ...object, status: { ...status, qosClass } };
}

function specErrors(spec: JsonObject): FieldError[] {
  const containers = listOf(spec.containers);
  const errors: FieldError[] = [];
  if (containers.length === 0) errors.push(requiredValue('spec.containers'));
  errors.push(...containerErrors('spec.containers', containers, spec));
  errors.push(...containerErrors('spec.initContainers', listOf(spec.initContainers), spec));
  const policies = ['Always', 'OnFailure', 'Never'];
  if (!policies.includes(String(spec.restartPolicy))) {
    errors.push(unsupportedValue('spec.restartPolicy', spec.restartPolicy, policies));
  }
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && !(Number(deadline) >= 1 && Number(deadline) <= 2 ** 31 - 1)) {
    errors.push(
      invalidValue('spec.activeDeadlineSeconds', deadline, 'must be between 1 and 2147483647, inclusive'),
    );
  }
  if (spec.nodeName && listOf(spec.schedulingGates).length > 0) {
    errors.push(forbiddenValue('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return errors;
}

function containerErrors(field: string, containers: readonly JsonObject[], spec: JsonObject): FieldError[] {
  const volumes = listOf(spec.volumes).map(({ name }) => name);
  const seen = new Set<unknown>();
  return containers.flatMap(({ name, image, volumeMounts }, index) => {
    const at = `${field}[${index}]`;
    const errors: FieldError[] = [];
    if (!name) errors.push(requiredValue(`${at}.name`));
    else errors.push(...labelNameErrors(`${at}.name`, String(name)));
    if (name && seen.has(name)) {
      const message = `Duplicate value: ${JSON.stringify(name)}`;
      errors.push({ reason: 'FieldValueDuplicate', field: `${at}.name`, message });
    }
    seen.add(name);
    if (!image) errors.push(requiredValue(`${at}.image`));
    for (const [mount, { name: volume }] of listOf(volumeMounts).entries()) {
      if (volumes.includes(volume)) continue;
      const message = `Not found: ${JSON.stringify(volume)}`;
      errors.push({ reason: 'FieldValueNotFound', field: `${at}.volumeMounts[${mount}].name`, message });
    }
    return errors;
  });
}

function changeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  if (equalJson(spec, old)) return [];
  const errors = [...gateErrors(spec, old), ...deadlineErrors(spec, old), ...tolerationErrors(spec, old)];
  if (errors.length > 0) return errors;
  return equalJson(fixedPartOf(spec, old), fixedPartOf(old, old)) ? [] : [forbiddenValue('spec', immutable)];
}

function gateErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const known = listOf(old.schedulingGates).map(({ name }) => name);
  return listOf(spec.schedulingGates).flatMap(({ name }, index) => {
    if (known.includes(name)) return [];
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return [forbiddenValue(`spec.schedulingGates[${index}].name`, why)];
  });
}

function deadlineErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  const field = 'spec.activeDeadlineSeconds';
  if (before === undefined || now === before) return [];
  if (now === undefined)
    return [invalidValue(field, null, 'must not update from a positive integer to nil value')];
  return Number(now) > Number(before)
    ? [invalidValue(field, now, 'must be less than or equal to previous value')]
    : [];
}

function tolerationErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const kept = listOf(spec.tolerations).map(({ tolerationSeconds, ...toleration }) => toleration);
  const isKept = listOf(old.tolerations).every(({ tolerationSeconds, ...toleration }) =>
    kept.some((other) => equalJson(other, toleration)),
  );
  const why = 'existing toleration can not be modified except its tolerationSeconds';
  return isKept ? [] : [forbiddenValue('spec.tolerations', why)];
}

/** What may not change: everything but images, the deadline, gates and additional tolerations. */
function fixedPartOf(spec: JsonObject, old: JsonObject): JsonObject {
  const { activeDeadlineSeconds, schedulingGates, tolerations, containers, initContainers, ...rest } = spec;
  const grace = rest.terminationGracePeriodSeconds;
  const isMended = grace === 1 && Number(old.terminationGracePeriodSeconds) < 0;
  return {
    ...rest,
    terminationGracePeriodSeconds: isMended ? old.terminationGracePeriodSeconds : grace,
    containers: listOf(containers).map(({ image, ...container }) => container),
    initContainers: listOf(initContainers).map(({ image, ...container }) => container),
  };
}
