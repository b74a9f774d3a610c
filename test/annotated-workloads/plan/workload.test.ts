import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/annotated-workloads/decide/decide.ts';
import {
  asksForSomething,
  transformWorkload,
  type Workload,
} from '../../../src/annotated-workloads/plan/workload.ts';
import { found, usual, workload } from '../workloads.ts';

const none = { reloaderAnnotations: false, autoReloadAll: false };
const reloader = { reloaderAnnotations: true, autoReloadAll: false };
const auto = { 'reloader.stakater.com/auto': 'true' };
const own = { 'k8spatterns.io/restart-on-change': 'referenced' };
const secret = 'A value that must not be kept';

/** As the API server sends it. */
function sent(parts: Parameters<typeof workload>[0]): Workload {
  const { metadata, spec } = workload(parts);
  const more = {
    labels: { a: secret },
    managedFields: [{ manager: secret }],
    resourceVersion: '7',
    generation: 3,
  };
  const annotations = { ...metadata.annotations, 'kubectl.kubernetes.io/last-applied-configuration': secret };
  const container = {
    ...usual.containers[0]!,
    env: [{ name: 'PASSWORD', value: secret }],
    command: [secret],
  };
  const template = {
    ...spec!.template,
    spec: { ...spec!.template!.spec, containers: [container], hostname: secret },
  };
  return {
    metadata: { ...metadata, ...more, annotations },
    spec: { ...spec, template },
    status: { secret },
  } as Workload;
}

describe('of a workload', () => {
  it('that asks for nothing its identity is kept, and nothing else', () => {
    assert.deepEqual(transformWorkload(sent({}), reloader), {
      metadata: { name: 'web', namespace: 'shop', uid: 'workload-uid', resourceVersion: '7', generation: 3 },
    });
    assert.equal(transformWorkload(sent({ annotations: auto }), none).spec, undefined);
  });

  it('that asks for something all is kept that a decision turns on, and no value', () => {
    for (const [annotations, modes] of [
      [own, none],
      [auto, reloader],
    ] as const) {
      const whole = sent({ annotations });
      const kept = transformWorkload(whole, modes);
      assert.doesNotMatch(JSON.stringify(kept), new RegExp(secret));
      assert.deepEqual(decide(kept, found({ ...modes })), decide(whole, found({ ...modes })));
      assert.equal(decide(kept, found({ ...modes })).action?.type, 'Create');
    }
  });

  it('the mark for deletion is kept in any case', () => {
    const { metadata } = transformWorkload(sent({ deletionTimestamp: '2026-01-01T00:00:00Z' }), none);
    assert.equal(metadata.deletionTimestamp, '2026-01-01T00:00:00Z');
  });
});

describe('a workload asks for something', () => {
  const alerts = { containers: [{ name: 'a', env: [{ name: 'ALERT_ON_RELOAD', value: 'true' }] }] };
  for (const [title, parts, modes, expected] of [
    ['with our annotation', { annotations: own }, none, true],
    ["with one of Reloader's", { annotations: auto }, reloader, true],
    ["with one of Reloader's on its template", { templateAnnotations: auto }, reloader, true],
    [
      "with one of Reloader's that names a kind",
      { annotations: { 'secret.reloader.stakater.com/reload': 'a' } },
      reloader,
      true,
    ],
    [
      "with one of Reloader's, without the flag",
      { annotations: auto, templateAnnotations: auto },
      none,
      false,
    ],
    [
      'with one that only looks like it',
      { annotations: { 'notreloader.stakater.com/auto': 'true' } },
      reloader,
      false,
    ],
    ['with an annotation of ours on its template alone', { templateAnnotations: own }, none, false],
    ["where it is Reloader's own, with alerts", { podSpec: alerts }, reloader, true],
    ['with all of them asking', {}, { ...reloader, autoReloadAll: true }, true],
  ] as const) {
    it(`${title}: ${expected}`, () => assert.equal(asksForSomething(workload(parts), modes), expected));
  }
});
