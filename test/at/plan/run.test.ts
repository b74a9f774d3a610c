/** The run annotation of a Pod: a client that may write Pods may write anything there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mainContainerName, runAnnotation, runOf } from '../../../src/at/plan/run.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  created,
  decideInParts as decide,
  dueTime,
  failed,
  launched,
  observing,
  started,
  waiting,
} from '../../fixtures/at.ts';
import { fc } from '../../fixtures/property.ts';

const at = waiting({ backoffLimit: 2, pendingTimeoutSeconds: 60, activeDeadlineSeconds: 30 });

function podWith(run: object) {
  const pod = created(at);
  return { ...pod, metadata: { ...pod.metadata, annotations: { [runAnnotation]: JSON.stringify(run) } } };
}

const unlikely = [
  ...['x', '5', -1, 0.5, 1e300, null, {}, [], true].map((value) => ({
    backoffLimit: value,
    pendingTimeoutSeconds: value,
    activeDeadlineSeconds: value,
    launchedSpec: 7,
  })),
  ...['9999-12-31T23:59:59-23:59', '0001-01-01T00:00:00+23:59', 'now', 5].map((scheduledTime) => ({
    scheduledTime,
    backoffLimit: 2,
    pendingTimeoutSeconds: 60,
    activeDeadlineSeconds: 30,
  })),
];

describe('runOf', () => {
  for (const run of unlikely) {
    it(`takes the terms of the spec instead of ${JSON.stringify(run)}`, () => {
      assert.deepEqual(runOf(at, podWith(run)), {
        scheduledTime: dueTime,
        backoffLimit: 2,
        pendingTimeoutSeconds: 60,
        activeDeadlineSeconds: 30,
        launchedSpec: undefined,
        generation: undefined,
        defaultImage: undefined,
      });
    });
  }

  it('keeps each term that makes sense, and takes none from a spec that had it later', () => {
    const run = runOf(at, podWith({ backoffLimit: 'x', pendingTimeoutSeconds: 0 }));
    assert.deepEqual(
      [run.backoffLimit, run.pendingTimeoutSeconds, run.activeDeadlineSeconds],
      [2, 0, undefined],
    );
  });

  it('never makes a decision throw, or look again at no time', () => {
    const term = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('9999-12-31T23:59:59-23:59', 1e300));
    const fields = [
      'scheduledTime',
      'backoffLimit',
      'pendingTimeoutSeconds',
      'activeDeadlineSeconds',
    ] as const;
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...fields), term), (run) => {
        for (const observed of [at, launched(at.spec)]) {
          for (const pod of [podWith(run), started(podWith(run)), failed(podWith(run))]) {
            const { requeueAt } = decide(observing({ at: observed, pod }));
            assert.ok(requeueAt === undefined || Number.isFinite(requeueAt), `again at ${requeueAt}`);
          }
        }
      }),
    );
  });
});

describe('mainContainerName', () => {
  const containers = [{ name: 'proxy' }, { name: 'main' }, { name: '5' }, { name: 'null' }];
  const nameIn = (run: string | undefined): string | undefined => {
    const annotations = run === undefined ? {} : { [runAnnotation]: run };
    const pod: Pod = { metadata: { name: 'p', annotations }, spec: { containers } };
    return mainContainerName(pod);
  };

  it('is what the annotation says, wherever that container stands', () => {
    assert.equal(nameIn('{"container":"main"}'), 'main');
  });

  const unlikely = [
    '{}',
    '{"container":"other"}',
    '{"container":""}',
    '{"container":5}',
    '{"container":null}',
  ];
  for (const run of [
    undefined,
    '',
    '{"container":"main"',
    'null',
    '["main"]',
    '{"container":["main"]}',
    ...unlikely,
  ]) {
    it(`is the first one for ${run}`, () => assert.equal(nameIn(run), 'proxy'));
  }

  it('is none in a Pod without containers', () => {
    const pod = podWith({ container: 'main' });
    assert.equal(mainContainerName({ ...pod, spec: { containers: [] } }), undefined);
  });
});
