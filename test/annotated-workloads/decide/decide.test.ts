import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Decision, decide } from '../../../src/annotated-workloads/decide/decide.ts';
import { maxSources } from '../../../src/annotated-workloads/plan/watcher.ts';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { readSpec } from '../../../src/configwatcher/plan/spec.ts';
import { fc } from '../../fixtures/property.ts';
import { actionOf, deployments, found, specFor, uid, type WorkloadParts, workload } from '../workloads.ts';

const key = 'k8spatterns.io/restart-on-change';
const asking = { annotations: { [key]: 'configmap/a' } };

/** As the API server stores it. */
function stored(watcher: ConfigWatcher, more: Partial<ConfigWatcher['metadata']> = {}): ConfigWatcher {
  return { ...watcher, metadata: { ...watcher.metadata, uid: 'watcher-uid', resourceVersion: '7', ...more } };
}

function made(parts: WorkloadParts = asking): ConfigWatcher {
  return stored(actionOf(decide(workload(parts), found())).watcher);
}

describe('a workload that asks', () => {
  it('gets a ConfigWatcher of its own, with its selector and every default', () => {
    const { type, watcher } = actionOf(decide(workload(asking), found()));
    assert.equal(type, 'Create');
    assert.deepEqual(watcher.metadata, {
      ...{ namespace: 'shop', name: 'deployment-web' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid, controller: true }],
    });
    assert.deepEqual(watcher.spec.podSelector, { app: 'web' });
    assert.deepEqual(watcher.spec.sources, [{ kind: 'ConfigMap', name: 'a', optional: false }]);
    assert.equal('invalid' in readSpec(watcher.spec), false);
  });

  it('is looked at again without effect', () => {
    assert.deepEqual(decide(workload(asking), found({ watcher: made() })), {});
  });

  it('gets another spec on the same object', () => {
    const watcher = made();
    const edited = { ...watcher, spec: { ...watcher.spec, suspend: true } };
    const { type, watcher: updated } = actionOf(decide(workload(asking), found({ watcher: edited })));
    assert.deepEqual([type, updated.spec, updated.metadata], ['Update', watcher.spec, watcher.metadata]);
  });

  it('and does so no more loses it', () => {
    const { type, watcher } = actionOf(decide(workload(), found({ watcher: made() })));
    assert.deepEqual([type, watcher.metadata.uid], ['Delete', 'watcher-uid']);
  });

  it('keeps it while what it asks for is wrong', () => {
    const { action, warning } = decide(
      workload({ annotations: { [key]: 'nonsense' } }),
      found({ watcher: made() }),
    );
    assert.deepEqual([action, warning?.reason], [undefined, 'InvalidRestartAnnotation']);
  });

  it('loses it when there is nothing to watch any more', () => {
    const parts = { annotations: { [key]: 'referenced' }, podSpec: { containers: [{ name: 'app' }] } };
    assert.equal(actionOf(decide(workload(parts), found({ watcher: made() }))).type, 'Delete');
  });

  it('gets none while it is deleted', () => {
    const parts = { ...asking, deletionTimestamp: '2026-01-01T00:00:00Z' };
    assert.deepEqual(decide(workload(parts), found()), {});
  });

  it('leaves a ConfigWatcher of that name alone that is not its own', () => {
    for (const ownerReferences of [
      [],
      [{ ...made().metadata.ownerReferences![0]!, kind: 'Other', uid: 'other' }],
    ]) {
      const watcher = stored(made(), { ownerReferences });
      const { action, warning } = decide(workload(asking), found({ watcher }));
      assert.deepEqual([action, warning?.reason], [undefined, 'ConfigWatcherExists']);
      assert.deepEqual(decide(workload(), found({ watcher })), {});
    }
  });

  it('waits for that of a former workload of its name to go', () => {
    const former = made().metadata.ownerReferences!.map((owner) => ({ ...owner, uid: 'former' }));
    const watcher = stored(made(), { ownerReferences: former });
    assert.deepEqual(decide(workload(asking), found({ watcher })), {});
  });

  it('may have as many sources as the CRD takes', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => `configmap/c${index}`).join();
    assert.equal(specFor({ annotations: { [key]: list(maxSources) } }).sources?.length, maxSources);
    const many = decide(workload({ annotations: { [key]: list(maxSources + 1) } }), found());
    assert.match(
      many.warning?.message ?? '',
      new RegExp(`has ${maxSources + 1} sources.* at most ${maxSources}`),
    );
    assert.equal(many.action, undefined);
  });
});

describe('a source that is listed for Reloader', () => {
  const list = 'configmap.reloader.stakater.com/reload';
  const listed = (names: string, present: Readonly<Record<string, object>>, watcher?: ConfigWatcher) =>
    decide(
      workload({ annotations: { [list]: names } }),
      found({ reloaderAnnotations: true, present, watcher }),
    );

  it('by its name stays while it is deleted and made again, so that another content is seen', () => {
    const watcher = stored(actionOf(listed('a', { 'ConfigMap/a': {} })).watcher);
    assert.equal(listed('a', {}, watcher).action, undefined);
    assert.equal(actionOf(listed('b', {}, watcher)).type, 'Delete');
  });

  it('by a pattern is there while it exists', () => {
    const watcher = stored(actionOf(listed('a-.*', { 'ConfigMap/a-1': {}, 'ConfigMap/a-2': {} })).watcher);
    const { type, watcher: updated } = actionOf(listed('a-.*', { 'ConfigMap/a-2': {} }, watcher));
    assert.deepEqual([type, updated.spec.sources?.map(({ name }) => name)], ['Update', ['a-2']]);
  });
});

describe('the name', () => {
  it('is that of kind and workload', () => {
    const resource = { ...deployments, plural: 'statefulsets', kind: 'StatefulSet' };
    const { watcher } = actionOf(decide(workload(asking), found({ resource })));
    assert.equal(watcher.metadata.name, 'statefulset-web');
  });

  it('is cut where it is too long, and differs where the workloads do', () => {
    const names = ['x', 'y'].map(
      (last) => made({ ...asking, name: `${'a'.repeat(252)}${last}` }).metadata.name,
    );
    assert.deepEqual(
      names.map(({ length }) => length),
      [253, 253],
    );
    assert.notEqual(names[0], names[1]);
    assert.match(names[0] ?? '', /^deployment-a+-[0-9a-f]{8}$/);
    assert.equal(made({ ...asking, name: 'a'.repeat(242) }).metadata.name, `deployment-${'a'.repeat(242)}`);
  });
});

describe('the selector', () => {
  const selected = (
    selector: NonNullable<WorkloadParts['selector']>,
    labels = { app: 'web', tier: 'front' },
  ) => {
    const { podSelector, podSelectorExpressions } = specFor({ ...asking, selector, labels });
    return [podSelector, podSelectorExpressions ?? []];
  };
  const expression = (key: string, operator: string, ...values: string[]) => ({
    key,
    operator,
    ...(values.length > 0 && { values }),
  });

  it('has expressions beside labels', () => {
    const selector = { matchLabels: { app: 'web' }, matchExpressions: [expression('tier', 'NotIn', 'back')] };
    assert.deepEqual(selected(selector), [{ app: 'web' }, [expression('tier', 'NotIn', 'back')]]);
  });

  it('without labels has those of the template for the keys it asks for', () => {
    const matchExpressions = [expression('app', 'In', 'web', 'shop'), expression('gone', 'DoesNotExist')];
    assert.deepEqual(selected({ matchExpressions }), [{ app: 'web' }, matchExpressions]);
    assert.deepEqual(selected({ matchExpressions: [expression('tier', 'Exists')] })[0], { tier: 'front' });
  });

  it('that asks for no label has all of the template', () => {
    const matchExpressions = [expression('tier', 'NotIn', 'back')];
    assert.deepEqual(selected({ matchExpressions }), [{ app: 'web', tier: 'front' }, matchExpressions]);
  });

  it('without any label is a Warning', () => {
    const parts = {
      ...asking,
      labels: {},
      selector: { matchExpressions: [expression('tier', 'DoesNotExist')] },
    };
    const { action, warning } = decide(workload(parts), found());
    assert.equal(action, undefined);
    assert.match(warning?.message ?? '', /neither its selector nor its Pod template has a label/);
  });
});

describe('whatever a workload says', () => {
  const value = fc.constantFrom(
    'referenced',
    'configmap/a',
    'configmap/a, secret/b',
    'true',
    'false',
    '',
    'c.*',
    'nonsense',
    '5m',
  );
  const name = fc.constantFrom(
    ...[
      key,
      'reloader.stakater.com/auto',
      'configmap.reloader.stakater.com/reload',
      'secret.reloader.stakater.com/auto',
    ],
    ...['reloader.stakater.com/search', 'configmaps.exclude.reloader.stakater.com/reload'],
    ...['deployment.reloader.stakater.com/pause-period', 'reloader.stakater.com/rollout-strategy'],
  );
  const annotations = fc.dictionary(name, value, { maxKeys: 4 });
  const options = fc.option(
    fc.constantFrom('{"suspend":true}', '{"cooldown":{"base":"1s"}}', '{', '{"x":1}'),
    { nil: undefined },
  );
  const flags = fc.record({
    reloaderAnnotations: fc.boolean(),
    autoReloadAll: fc.boolean(),
    secretAccess: fc.boolean(),
  });
  const source = fc.record({ match: fc.boolean(), ignore: fc.boolean() });
  const present = fc.dictionary(
    fc.constantFrom('ConfigMap/config', 'ConfigMap/c', 'Secret/password', 'Secret/c2'),
    source,
  );
  const state = fc.record({ annotations, templateAnnotations: annotations, options, flags, present });

  const apply = (watcher: ConfigWatcher | undefined, { action }: Decision): ConfigWatcher | undefined => {
    if (action === undefined) return watcher;
    return action.type === 'Delete' ? undefined : stored(action.watcher);
  };
  const next = (
    watcher: ConfigWatcher | undefined,
    {
      annotations: own,
      templateAnnotations,
      options: json,
      flags: modes,
      present: sources,
    }: typeof state extends fc.Arbitrary<infer T> ? T : never,
  ) => {
    const asked = { ...own, ...(json !== undefined && { 'k8spatterns.io/restart-options': json }) };
    return decide(
      workload({ annotations: asked, templateAnnotations }),
      found({ ...modes, present: sources, watcher }),
    );
  };

  it('a second decision on what the first has made is empty, and without annotations nothing is left', () => {
    fc.assert(
      fc.property(fc.array(state, { minLength: 1, maxLength: 4 }), (states) => {
        let watcher: ConfigWatcher | undefined;
        for (const one of states) {
          watcher = apply(watcher, next(watcher, one));
          assert.equal(next(watcher, one).action, undefined);
          if (watcher) assert.equal('invalid' in readSpec(watcher.spec), false);
        }
        assert.equal(apply(watcher, decide(workload(), found({ watcher }))), undefined);
      }),
    );
  });
});
