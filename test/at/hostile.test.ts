/** Ats and Pods of any shape: a lax CRD, an old version or a hand may have written what no schema of ours lets in. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { statusPatch } from '../../src/at/act/status-patch.ts';
import { transformAt, transformPod } from '../../src/at/facts/transform.ts';
import { isDue } from '../../src/at/plan/due.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import {
  accepted,
  created,
  decideInParts as decide,
  dueTime,
  finished,
  justAfterDue,
  launched,
  observing,
  waiting,
  withStatus,
} from '../fixtures/at.ts';
import { fc } from '../fixtures/property.ts';

/** Also what throws when it is taken for a text or a number. */
const json = fc.oneof(
  { weight: 9, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  fc.constantFrom({ toString: 1, valueOf: 1 }, [{ toString: 1 }]),
);

/** An object some of whose fields have been overwritten with anything. */
function spoiled<T extends object>(object: T, fields: readonly (keyof T & string)[]): fc.Arbitrary<T> {
  const spoils = fc.dictionary(fc.constantFrom(...fields), json, { maxKeys: 3 });
  return spoils.map((values) => ({ ...object, ...values }));
}

const spec: fc.Arbitrary<At['spec']> = spoiled(waiting().spec, [
  'schedule',
  'timeZone',
  'command',
  'argv',
  'shell',
  'image',
  'template',
  'startingDeadlineSeconds',
  'suspend',
  'cancel',
  'activeDeadlineSeconds',
  'pendingTimeoutSeconds',
  'backoffLimit',
  'disruptionPolicy',
  'launchGuarantee',
  'ttlSecondsAfterFinished',
]);

const statuses = [undefined, ...[waiting(), accepted(), launched(), finished()].map(({ status }) => status)];

const status: fc.Arbitrary<At['status']> = spoiled<NonNullable<At['status']>>({}, [
  'phase',
  'outcome',
  'reason',
  'message',
  'observedGeneration',
  'scheduledTime',
  'podName',
  'podUID',
  'attempts',
  'launchTime',
  'startTime',
  'completionTime',
  'latenessMilliseconds',
  'exitCode',
  'restarts',
  'conditions',
]);

describe('an At of any shape', () => {
  it('is decided upon, and never takes the process down', () => {
    // An edit: a spec that status calls accepted has been looked at.
    const at = waiting({}, { generation: 2 });
    fc.assert(
      fc.property(
        spec,
        fc.constantFrom(...statuses),
        fc.option(fc.constant(created(at)), { nil: undefined }),
        fc.boolean(),
        (spec, status, pod, live) => {
          const strange = transformAt(withStatus({ ...at, spec }, status));
          isDue(strange, dueTime);
          const decision = decide(
            observing({ at: strange, pod: pod && transformPod(pod), live, now: justAfterDue }),
          );
          for (const time of [decision.requeueAt, decision.requeueAfter]) {
            assert.ok(time === undefined || (Number.isFinite(time) && time >= 0), `again at ${time}`);
          }
          JSON.stringify(decision);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('may have any status, and anything for a spec', () => {
    const from = fc.constantFrom(...statuses.map((known) => known ?? {}));
    const shape = fc.oneof(
      fc.tuple(from, status).map(([known, other]) => ({ ...known, ...other })),
      json as fc.Arbitrary<never>,
    );
    fc.assert(
      fc.property(shape, fc.option(json as fc.Arbitrary<never>, { nil: waiting().spec }), (found, given) => {
        const at = transformAt({ ...waiting({}, { generation: 2 }), spec: given, status: found });
        isDue(at, dueTime);
        const decision = decide(observing({ at, now: justAfterDue }));
        JSON.stringify([decision.status && statusPatch(at, decision.status), decision.actions]);
        for (const time of [decision.requeueAt, decision.requeueAfter]) {
          assert.ok(time === undefined || Number.isFinite(time), `again at ${time}`);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('has a Pod that may be of any shape, too', () => {
    const at = launched();
    const pod = created(at);
    const shape = fc.record({ status: json, spec: json, annotations: json });
    fc.assert(
      fc.property(shape, ({ status, spec, annotations }) => {
        const metadata = { ...pod.metadata, annotations };
        const strange = { ...pod, metadata, status, ...(spec === null ? {} : { spec: pod.spec }) } as Pod;
        decide(observing({ at, pod: strange }));
      }),
      { numRuns: 500 },
    );
  });
});
