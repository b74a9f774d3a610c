import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSpec } from '../../../src/configwatcher/plan/spec.ts';
import { watching } from '../../fixtures/configwatcher.ts';

describe('readSpec', () => {
  it('fills in every default for the two fields of the book', () => {
    assert.deepEqual(readSpec(watching().spec), {
      sources: [{ kind: 'ConfigMap', name: 'webapp-config', keys: [], optional: false }],
      selector: { matchLabels: { app: 'webapp' }, matchExpressions: [] },
      onlyReferencing: false,
      suspend: false,
      dryRun: false,
      strategy: {
        name: 'Auto',
        podAction: 'EvictPod',
        rollout: 'WherePossible',
        maxUnavailable: { percent: 25 },
        maxOwners: 10,
        canary: true,
        minReady: undefined,
        deleteUnmanaged: false,
        deleteJobPods: false,
        progressDeadline: 600_000,
      },
      debounce: { quiet: 2000, max: 30_000 },
      cooldown: { base: 30_000, max: 600_000 },
      restartOnDelete: false,
      windows: [],
    });
  });

  it('puts configMap before the other sources', () => {
    const spec = readSpec(
      watching({ keys: ['a'], sources: [{ kind: 'ConfigMap', name: 'more', optional: true }] }).spec,
    );
    assert.ok('sources' in spec);
    assert.deepEqual(
      spec.sources.map(({ name, keys, optional }) => [name, keys, optional]),
      [
        ['webapp-config', ['a'], false],
        ['more', [], true],
      ],
    );
  });

  it('takes a number and a percentage of Pods', () => {
    for (const [maxUnavailable, expected] of [
      [3, { count: 3 }],
      ['100%', { percent: 100 }],
    ] as const) {
      const spec = readSpec(watching({ strategy: { maxUnavailable } }).spec);
      assert.ok('strategy' in spec);
      assert.deepEqual(spec.strategy.maxUnavailable, expected);
    }
  });

  const canary = 'canary,7f3a9c';
  const bad: [string, object, RegExp][] = [
    ['an empty selector', { podSelector: {} }, /podSelector/],
    ['a selector that is a list', { podSelector: ['app'] }, /podSelector/],
    ['a label value with a comma', { podSelector: { app: canary } }, /podSelector/],
    ['a label value that is a number', { podSelector: { app: 1 } }, /podSelector/],
    ['no source', { configMap: undefined }, /nothing to watch/],
    ['an illegal name', { configMap: canary }, /configMap/],
    ['a path for a name', { configMap: '../secrets/x' }, /configMap/],
    ['a number for a name', { configMap: 7 }, /configMap/],
    ['the same source twice', { sources: [{ kind: 'ConfigMap', name: 'webapp-config' }] }, /sources/],
    ['an unknown strategy', { strategy: { type: canary } }, /strategy.type must be one of/],
    ['no room for restarts', { strategy: { maxUnavailable: '0%' } }, /maxUnavailable/],
    ['a bad duration', { debounce: { quiet: canary } }, /debounce.quiet must be a duration/],
    ['quiet longer than max', { debounce: { quiet: '1m' } }, /debounce.quiet must not be longer/],
    ['a bad operator', { podSelectorExpressions: [{ key: 'a', operator: canary }] }, /operator/],
    ['In without values', { podSelectorExpressions: [{ key: 'a', operator: 'In' }] }, /values/],
    [
      'a window in no zone',
      { windows: [{ schedule: '0 3 * * *', duration: '1h', timeZone: canary }] },
      /timeZone/,
    ],
    [
      'a window that ends before it begins',
      { windows: [{ schedule: '0 5-3 * * *', duration: '1h' }] },
      /range/,
    ],
    [
      'a window that never opens',
      { windows: [{ schedule: '0 0 31 4,6 *', duration: '1h' }] },
      /windows\[0\].schedule never comes/,
    ],
    ['a flag that is a string', { suspend: canary }, /suspend/],
  ];
  for (const [what, spec, message] of bad) {
    it(`refuses ${what} behind a lax CRD, and does not repeat it`, () => {
      const read = readSpec({ ...watching().spec, ...spec });
      assert.ok('invalid' in read);
      assert.match(read.invalid, message);
      assert.ok(!read.invalid.includes('canary'));
    });
  }

  it('refuses a missing spec, and one that is no object', () => {
    assert.deepEqual(readSpec(undefined), { invalid: 'spec is missing' });
    assert.ok('invalid' in readSpec('text'));
  });
});
