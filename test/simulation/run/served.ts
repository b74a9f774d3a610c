/** What the API servers of a run serve: Kubernetes' own resources, and our two kinds with the rules of their CRDs. */
import { ats, configWatchers } from '../../../src/api/resources.ts';
import { validateAt, validateConfigWatcher } from '../../../src/api/validate.ts';
import { clusterResources } from '../../../src/testing/api-server/cluster-resources.ts';
import { type FieldError, invalidValue } from '../../../src/testing/api-server/failure.ts';
import type { ServedResource } from '../../../src/testing/api-server/served-resource.ts';
import type { AnyObject, Strategy } from '../../../src/testing/api-server/strategy.ts';

const phases = ['PENDING', 'RUNNING', 'DONE'];
/** What may be edited once an At has been launched. */
const free = new Set(['cancel', 'suspend', 'ttlSecondsAfterFinished']);

interface AtStatus {
  readonly phase?: string;
}

/** The transition rules; those that look at one state alone are checked with the schema. */
function brokenTransitions(object: AnyObject, old: AnyObject): FieldError[] {
  const [before, after] = [old.status as AtStatus | undefined, object.status as AtStatus | undefined];
  const phase = before?.phase ?? 'PENDING';
  const isBack = phases.indexOf(after?.phase ?? '') < phases.indexOf(phase);
  const isLaunched = phase !== 'PENDING';
  const wasCanceled = (old.spec as { cancel?: boolean }).cancel === true;
  const isCanceled = (object.spec as { cancel?: boolean }).cancel === true;
  return [
    ...(isBack ? [invalidValue('status.phase', after?.phase, 'never goes back')] : []),
    ...(isLaunched && fixed(object) !== fixed(old) ? [invalidValue('spec', '', 'is immutable')] : []),
    ...(wasCanceled && !isCanceled ? [invalidValue('spec.cancel', false, 'cannot be taken back')] : []),
  ];
}

function fixed({ spec }: AnyObject): string {
  return JSON.stringify(Object.entries(spec as object).filter(([key]) => !free.has(key)));
}

function problems(found: readonly { readonly path: string; readonly message: string }[]): FieldError[] {
  return found.map(({ path, message }) => invalidValue(path, '', message));
}

const atStrategy: Strategy = {
  prepare(object, old) {
    const filled = validateAt(object).object as unknown as AnyObject;
    const status = { phase: 'PENDING', observedGeneration: -1 };
    return { ...filled, status: old === undefined ? status : (filled.status ?? status) };
  },
  validate: (object, old) => [
    ...problems(validateAt(object).problems),
    ...(old === undefined ? [] : brokenTransitions(object, old)),
  ],
};

const watcherStrategy: Strategy = {
  prepare: (object) => validateConfigWatcher(object).object as unknown as AnyObject,
  validate: (object) => problems(validateConfigWatcher(object).problems),
};

export const servedResources: readonly ServedResource[] = [
  ...clusterResources,
  { ...ats, typedItems: true, strategy: atStrategy },
  { ...configWatchers, typedItems: true, strategy: watcherStrategy },
];
