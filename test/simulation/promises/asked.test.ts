import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HandMade } from '../hand-made.ts';

const minute = 60_000;
const labels = { app: 'web' };

const envFrom = [{ configMapRef: { name: 'config' } }, { secretRef: { name: 'secret' } }];

/** A Deployment with that annotation, and the ConfigWatcher that there is. */
function broken(value: string | undefined, watcher?: { spec: object; uid?: string }): readonly string[] {
  const options = { 'k8spatterns.io/restart-options': '{"debounce":{"quiet":"1s"}}' };
  const annotations = value === undefined ? {} : { 'k8spatterns.io/restart-on-change': value, ...options };
  const made = new HandMade(['L10']).add({
    ...{ type: 'replica', time: 0, replica: 'replica-0#1', state: 'started' },
  });
  made.change('deployments', {
    ...{ metadata: { name: 'web', annotations } },
    spec: {
      selector: { matchLabels: labels },
      template: { spec: { containers: [{ name: 'main', envFrom }] } },
    },
  });
  if (watcher !== undefined) {
    const { uid = 'web-uid', spec } = watcher;
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid, controller: true };
    const metadata = { name: 'deployment-web', ownerReferences: [owner] };
    const defaults = { podSelector: labels, debounce: { quiet: '1s', max: '30s' } };
    made.change('configwatchers', { metadata, spec: { ...defaults, ...spec } });
  }
  return made.calm(5 * minute).broken;
}

const [config, secret] = [
  { kind: 'ConfigMap', name: 'config' },
  { kind: 'Secret', name: 'secret' },
];

describe('L10, what workloads ask for', () => {
  for (const [what, value, watcher] of [
    ['one that asks for nothing', undefined, undefined],
    ['one that has what its template refers to', 'referenced', { spec: { sources: [secret, config] } }],
    ['one that has what it lists', 'configmap/config', { spec: { sources: [config] } }],
    ['one that asks for nothing, with the ConfigWatcher of another', undefined, { uid: 'x', spec: {} }],
  ] as const) {
    it(`is kept by ${what}`, () => assert.deepEqual(broken(value, watcher), []));
  }

  for (const [what, value, watcher] of [
    ['one that has none', 'referenced', undefined],
    [
      'one that has only the ConfigWatcher of another',
      'referenced',
      { uid: 'x', spec: { sources: [config] } },
    ],
    ['one that has too little', 'referenced', { spec: { sources: [config] } }],
    ['one of other Pods', 'configmap/config', { spec: { podSelector: { app: 'x' }, sources: [config] } }],
    ['one that asks no more', undefined, { spec: { sources: [config] } }],
    ['one that is suspended by others', 'configmap/config', { spec: { sources: [config], suspend: true } }],
    ['other options', 'configmap/config', { spec: { sources: [config], debounce: { quiet: '9s' } } }],
  ] as const) {
    it(`is broken by ${what}`, () => assert.deepEqual(broken(value, watcher), ['L10 deployment']));
  }
});
