import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxKeys, referencesOf } from '../../../src/annotated-workloads/plan/references.ts';
import { configWatcherSchema } from '../../../src/api/configwatcher.generated.ts';
import type { Container, PodSpec } from '../../../src/kubernetes/objects.ts';

function text(spec: Partial<PodSpec>): string {
  return referencesOf({ containers: [], ...spec })
    .map(({ kind, name, keys, optional, used }) =>
      [`${kind}/${name}`, keys ? `[${keys.join(' ')}]` : '', optional ? '?' : '', used ? '' : ' unused'].join(
        '',
      ),
    )
    .join(', ');
}

function container(more: Partial<Container>): Container {
  return { name: 'app', ...more };
}

function env(key: string, name = 'a', optional?: boolean) {
  return {
    name: key,
    valueFrom: { configMapKeyRef: { name, key, ...(optional !== undefined && { optional }) } },
  };
}

const volumes = [{ name: 'v', configMap: { name: 'a', items: [{ key: 'y' }, { key: 'x' }] } }];
const volumeMounts = [{ name: 'v' }];

const rows: Readonly<Record<string, readonly [Partial<PodSpec>, string]>> = {
  'a key of an env': [{ containers: [container({ env: [env('x')] })] }, 'ConfigMap/a[x]'],
  'a key of a Secret': [
    {
      containers: [container({ env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })],
    },
    'Secret/s[k]',
  ],
  'keys of several places, sorted': [
    { containers: [container({ env: [env('z'), env('x')], volumeMounts })], volumes },
    'ConfigMap/a[x y z]',
  ],
  'the whole of one beside a key of it': [
    { containers: [container({ env: [env('x')], envFrom: [{ configMapRef: { name: 'a' } }] })] },
    'ConfigMap/a',
  ],
  'an init container': [
    { initContainers: [container({ envFrom: [{ secretRef: { name: 's' } }] })] },
    'Secret/s',
  ],
  'a volume': [
    { containers: [container({ volumeMounts })], volumes: [{ name: 'v', secret: { secretName: 's' } }] },
    'Secret/s',
  ],
  'a volume that nothing mounts': [{ containers: [container({})], volumes }, 'ConfigMap/a[x y] unused'],
  'a projected volume': [
    {
      containers: [container({ volumeMounts })],
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [
              { configMap: { name: 'b', items: [{ key: 'k' }] } },
              { secret: { name: 's', optional: true } },
            ],
          },
        },
      ],
    },
    'ConfigMap/b[k], Secret/s?',
  ],
  'optional where each reference is': [
    {
      containers: [
        container({ env: [env('x', 'a', true), env('y', 'a', true), env('x', 'b', true), env('y', 'b')] }),
      ],
    },
    'ConfigMap/a[x y]?, ConfigMap/b[x y]',
  ],
  'a reference without a name': [{ containers: [container({ envFrom: [{ configMapRef: {} }] })] }, ''],
};

describe('what a Pod template refers to', () => {
  for (const [title, [spec, expected]] of Object.entries(rows)) {
    it(`is found in ${title}`, () => assert.equal(text(spec), expected));
  }

  it('is everything of a source when more keys are used than a source may name', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => env(`k${index}`));
    assert.match(text({ containers: [container({ env: keys(maxKeys) })] }), /^ConfigMap\/a\[/);
    assert.equal(text({ containers: [container({ env: keys(maxKeys + 1) })] }), 'ConfigMap/a');
    assert.match(
      JSON.stringify(configWatcherSchema),
      new RegExp(`"sources":.*"keys":{[^}]*"maxItems":${maxKeys},`),
    );
  });

  it('is nothing without a template', () => assert.deepEqual(referencesOf(undefined), []));
});
