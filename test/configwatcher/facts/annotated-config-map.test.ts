import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AnnotationStore } from '../../../src/configwatcher/act/annotation-store.ts';
import {
  annotatedIn,
  selectorSpec,
  watcherOf,
} from '../../../src/configwatcher/facts/annotated-config-map.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import { specOf } from '../../../src/configwatcher/facts/watched-objects.ts';
import { configMaps, type KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';

const selector = 'k8spatterns.io/podDeleteSelector';
const observed = 'k8spatterns.io/observed';

function configMap(annotations: Record<string, string>): KubernetesObject {
  return {
    metadata: { namespace: 'shop', name: 'webapp-config', uid: 'u', resourceVersion: '7', annotations },
  };
}

describe('the selector of an annotation', () => {
  for (const { text, labels, expressions } of [
    { text: 'app=webapp', labels: { app: 'webapp' } },
    { text: ' app == webapp , tier=', labels: { app: 'webapp', tier: '' } },
    {
      text: 'app=webapp,app=other',
      labels: { app: 'webapp' },
      expressions: [{ key: 'app', operator: 'In', values: ['other'] }],
    },
    {
      text: 'constructor=a,toString=b',
      labels: { constructor: 'a', toString: 'b' } as Record<string, string>,
    },
    {
      text: 'app=webapp,tier in (a, b),zone notin (c),env!=dev,canary,!old',
      labels: { app: 'webapp' },
      expressions: [
        { key: 'tier', operator: 'In', values: ['a', 'b'] },
        { key: 'zone', operator: 'NotIn', values: ['c'] },
        { key: 'env', operator: 'NotIn', values: ['dev'] },
        { key: 'canary', operator: 'Exists' },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    },
  ]) {
    it(`reads ${text}`, () => {
      const spec = { podSelector: labels, ...(expressions && { podSelectorExpressions: expressions }) };
      assert.deepEqual(selectorSpec(text), spec);
      const watcher = watcherOf(configMap({ [selector]: text }));
      assert.ok(watcher && 'selector' in specOf(watcher));
    });
  }

  for (const text of [
    '',
    ' ',
    ',',
    'app',
    '!app',
    'a b=c',
    'app=webapp,',
    'app=(x)',
    'app=web app',
    'a in b',
    '__proto__=x',
    'app=webapp,__proto__=x',
  ]) {
    it(`refuses ${JSON.stringify(text)} in words about the annotation`, () => {
      const watcher = watcherOf(configMap({ [selector]: text }));
      assert.ok(watcher);
      const spec = specOf(watcher);
      assert.match(
        'invalid' in spec ? spec.invalid : 'valid',
        /^the annotation k8spatterns.io\/podDeleteSelector/,
      );
    });
  }
});

describe('an annotated ConfigMap', () => {
  it('is a watcher of itself, with strategy Delete', () => {
    const watcher = watcherOf(configMap({ 'k8spatterns.com/podDeleteSelector': 'app=webapp' }));
    const spec = watcher && specOf(watcher);
    assert.ok(spec && !('invalid' in spec));
    assert.deepEqual(spec.sources, [{ kind: 'ConfigMap', name: 'webapp-config', keys: [], optional: false }]);
    assert.equal(spec.strategy.name, 'Delete');
  });

  it('is the same watcher for the same version, and none without the annotation', () => {
    const annotated = configMap({ [selector]: 'app=webapp' });
    assert.equal(watcherOf(annotated), watcherOf(annotated));
    assert.deepEqual(annotatedIn(annotated), ['shop']);
    assert.equal(watcherOf(configMap({})), undefined);
    assert.deepEqual(annotatedIn(configMap({})), []);
  });

  it('has another generation once the selector is edited, and no other edit counts as one', () => {
    const generation = (annotations: Record<string, string>) =>
      watcherOf(configMap(annotations))?.metadata.generation;
    const before = generation({ [selector]: 'app=webapp' });
    assert.equal(generation({ [selector]: 'app=webapp', other: 'x' }), before);
    assert.notEqual(generation({ [selector]: 'tier=web' }), before);
  });

  it('without a state, or with rubbish for one, is seen for the first time', () => {
    for (const text of ['{', '[]', 'null', '"x"']) {
      const watcher = watcherOf(configMap({ [selector]: 'app=webapp', [observed]: text }));
      assert.equal(readState(watcher?.status).appliedHash, undefined);
    }
  });
});

describe('the state of an annotated ConfigMap', () => {
  const state = { ...readState({ appliedHash: 'v1:a' }), matchedPods: 3 };
  const { signal } = new AbortController();

  async function write(answer: () => Promise<unknown>) {
    const calls: unknown[][] = [];
    const client = {
      patch: (...call: unknown[]) => {
        calls.push(call);
        return answer();
      },
    } as Partial<Client> as Client;
    const watcher = watcherOf(configMap({ [selector]: 'app=webapp' }));
    assert.ok(watcher);
    const store = new AnnotationStore(client);
    const written = await store.write(watcher, state, signal);
    return { calls, written, store, watcher };
  }

  it('is written under the version it was decided on, and then stands', async () => {
    const { calls, written, store, watcher } = await write(async () => ({
      metadata: { resourceVersion: '8' },
    }));
    const [resource, key, patch] = calls[0] ?? [];
    assert.deepEqual(written, { version: '8' });
    assert.deepEqual([resource, key], [configMaps, { namespace: 'shop', name: 'webapp-config' }]);
    const { body } = patch as {
      body: { metadata: { resourceVersion: string; annotations: Record<string, string> } };
    };
    assert.equal(body.metadata.resourceVersion, '7');
    assert.equal(store.isStored(watcher, state), false);
    const next = watcherOf(configMap({ [selector]: 'app=webapp', ...body.metadata.annotations }));
    assert.ok(next && store.isStored(next, state));
    assert.ok(store.isStored(next, { ...state, matchedPods: 9 }), 'scaling writes no ConfigMap');
    assert.equal(store.read(next, undefined).appliedHash, 'v1:a');
    assert.equal(store.read(next, { ...state, matchedPods: 9 }).matchedPods, 9);
  });

  for (const { code, reason, expected } of [
    { code: 409, reason: 'Conflict', expected: 'Conflict' },
    { code: 404, reason: 'NotFound', expected: 'Gone' },
  ]) {
    it(`answers ${code} with ${expected}`, async () => {
      const { written } = await write(() => Promise.reject(new ApiError('no', code, { reason })));
      assert.equal(written, expected);
    });
  }

  it('is written again after a page of a proxy, which proves no absence', async () => {
    await assert.rejects(
      write(() => Promise.reject(new ApiError('404 page not found', 404, {}))),
      /page/,
    );
  });

  it('is never written where the selector is bad', () => {
    const bad = watcherOf(configMap({ [selector]: '' }));
    assert.ok(bad && new AnnotationStore({} as Client).isStored(bad, state));
  });

  it('is the remembered one while the selector is bad, so that nothing is said twice', () => {
    const store = new AnnotationStore({} as Client);
    const written = { [observed]: JSON.stringify({ appliedHash: 'v1:a' }) };
    const [bad, good] = ['', 'app=webapp'].map((text) =>
      watcherOf(configMap({ [selector]: text, ...written })),
    );
    assert.ok(bad && good);
    const remembered = { ...state, observedGeneration: 5 };
    assert.equal(store.read(bad, remembered), remembered);
    assert.equal(store.read(bad, undefined).appliedHash, 'v1:a');
    assert.equal(store.read(good, remembered).observedGeneration, -1);
  });
});
