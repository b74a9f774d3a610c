/**
 * Fields of a PodSpec and of a container, as core/v1 has them: what else a Pod says is dropped or, with
 * fieldValidation=Strict, refused.
 */
import { badRequest } from './failure.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';

const podSpecFields = new Set(
  'activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef'.split(
    ' ',
  ),
);

const containerFields = new Set(
  'args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir'.split(
    ' ',
  ),
);

const containerLists = ['initContainers', 'containers'];

/** The spec with what a PodSpec has, and the paths of what was dropped. */
function pruned(spec: JsonObject): { spec: JsonObject; dropped: readonly string[] } {
  const dropped: string[] = [];
  const result = known(spec, podSpecFields, 'spec', dropped);
  for (const key of containerLists) {
    const list = spec[key];
    if (!Array.isArray(list)) continue;
    const inner: string[] = [];
    result[key] = list.map((container, index) =>
      isJsonObject(container) ? known(container, containerFields, `spec.${key}[${index}]`, inner) : container,
    );
    dropped.unshift(...inner);
  }
  return { spec: result, dropped };
}

function known(
  value: JsonObject,
  fields: ReadonlySet<string>,
  path: string,
  dropped: string[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key in value) {
    if (fields.has(key)) result[key] = value[key];
    else dropped.push(`${path}.${key}`);
  }
  return result;
}

/** The body of a Pod without what no Pod has. @throws Failure 400 for such a field when that is asked for. */
export function decodedPod<T extends { readonly spec?: unknown }>(body: T, isStrict: boolean): T {
  if (!isJsonObject(body.spec)) return body;
  const { spec, dropped } = pruned(body.spec);
  if (dropped.length === 0) return body;
  if (isStrict) {
    const fields = dropped.map((path) => `unknown field "${path}"`).join(', ');
    throw badRequest(`Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${fields}`);
  }
  return { ...body, spec };
}
