import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/annotated-workloads/decide/decide.ts';
import { found, sourcesText, specFor, workload } from '../workloads.ts';

const key = 'k8spatterns.io/restart-on-change';
const optionsKey = 'k8spatterns.io/restart-options';

function asking(value: string, options?: string) {
  return { annotations: { [key]: value, ...(options !== undefined && { [optionsKey]: options }) } };
}

function refusal(value: string, options?: string, secretAccess = true): string {
  const { action, warning } = decide(workload(asking(value, options)), found({ secretAccess }));
  assert.equal(action, undefined);
  return warning?.message ?? '';
}

describe(key, () => {
  for (const [value, sources] of [
    ['referenced', 'ConfigMap/config, Secret/password'],
    [' referenced ', 'ConfigMap/config, Secret/password'],
    ['configmap/a', 'ConfigMap/a'],
    ['configmap/a, secret/b', 'ConfigMap/a, Secret/b'],
    ['ConfigMap/a.b-c,configmap/a.b-c', 'ConfigMap/a.b-c'],
  ] as const) {
    it(`"${value}" watches ${sources}`, () => assert.equal(sourcesText(specFor(asking(value))), sources));
  }

  for (const value of [
    '',
    'true',
    'a',
    'configmap/',
    'configmap/A',
    'configmap/a,',
    'pod/a',
    'configmap/a/b',
    'other/configmap/a',
  ]) {
    it(`"${value}" is a Warning and nothing else`, () =>
      assert.match(refusal(value), /must be "referenced" or a list/));
  }

  it('watches Secrets only with access to them', () => {
    assert.equal(sourcesText(specFor(asking('referenced'), { secretAccess: false })), 'ConfigMap/config');
    assert.match(refusal('configmap/a, secret/b', undefined, false), /needs --secret-access/);
  });

  it('with nothing to refer to is a Warning', () => {
    const podSpec = { containers: [{ name: 'app' }] };
    const { action, warning } = decide(workload({ ...asking('referenced'), podSpec }), found());
    assert.deepEqual([action, warning?.reason], [undefined, 'NothingToWatch']);
  });
});

describe(optionsKey, () => {
  it('sets further fields of the spec', () => {
    const options = {
      strategy: { type: 'Evict', maxOwners: 2 },
      debounce: { quiet: '5s' },
      windows: [{ schedule: '0 3 * * *', duration: '2h' }],
    };
    const spec = specFor(asking('configmap/a', JSON.stringify(options)));
    assert.deepEqual(
      [spec.strategy?.maxOwners, spec.debounce, spec.windows?.length],
      [2, { quiet: '5s', max: '30s' }, 1],
    );
  });

  for (const [options, message] of [
    ['{', /must be a JSON object/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['"suspend"', /must be a JSON object/],
    ['{"debouce": {}}', /no ConfigWatcher has: debouce/],
    ['{"strategy": {"maxOwner": 1}}', /no ConfigWatcher has: strategy.maxOwner/],
    [
      '{"windows": [{"schedule": "* * * * *", "duration": "1h", "zone": "UTC"}]}',
      /no ConfigWatcher has: windows\[0\].zone/,
    ],
    ['{"__proto__": {}}', /no ConfigWatcher has: __proto__/],
    ['{"podSelector": {"app": "other"}}', /must not have podSelector/],
    ['{"sources": []}', /must not have sources/],
    ['{"configMap": "a"}', /must not have configMap/],
    ['{"strategy": {"type": "Explode"}}', /not valid: spec.strategy.type must be one of/],
    ['{"strategy": {"maxOwners": 0}}', /not valid: spec.strategy.maxOwners/],
    ['{"debounce": {"quiet": "1 s"}}', /not valid: spec.debounce.quiet/],
    ['{"cooldown": {"base": "20m"}}', /not valid: spec.cooldown.base must not be longer than max/],
    ['{"windows": [{"schedule": "61 * * * *", "duration": "1h"}]}', /not valid: spec.windows\[0\].schedule/],
  ] as const) {
    it(`${options} is a Warning and nothing else`, () =>
      assert.match(refusal('configmap/a', options), message));
  }
});
