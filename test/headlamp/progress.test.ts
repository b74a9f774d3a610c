/** What the Headlamp plugin shows of a restart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hash } from '../../headlamp/browser/node-crypto.ts';
import * as inBrowser from '../../headlamp/browser/node-util.ts';
import { progressOf, sourcesOf } from '../../headlamp/src/progress.ts';
import type { ConfigWatcher, ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';

const beforeCutoff = '2026-11-22T08:59:59Z';
const cutoff = '2026-11-22T09:00:00Z';
const afterCutoff = '2026-11-22T09:00:03Z';

function watcher(status: ConfigWatcherStatus = {}): ConfigWatcher {
  return {
    metadata: { name: 'web' },
    spec: { configMap: 'web-config', podSelector: { app: 'web' } },
    status,
  };
}

interface PodFields {
  readonly of?: readonly [kind: string, name: string];
  readonly created?: string;
  readonly ready?: boolean;
  readonly terminating?: boolean;
}

function pod({
  of: [kind, name] = ['ReplicaSet', 'web-5d4f'],
  created = afterCutoff,
  ready = true,
  terminating = false,
}: PodFields): Pod {
  return {
    metadata: {
      name: 'pod',
      creationTimestamp: created,
      labels: { 'pod-template-hash': '5d4f' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: name, controller: true }],
      ...(terminating ? { deletionTimestamp: afterCutoff } : {}),
    },
    spec: { containers: [] },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

const owner = { uid: 'web', kind: 'Deployment', name: 'web', wanted: 3, available: 3 };

function underWay(more: Partial<ConfigWatcherStatus['pending']> = {}, stalePods = 2): ConfigWatcher {
  const pending = {
    hash: 'h',
    since: cutoff,
    started: cutoff,
    cutoff,
    total: 3,
    reason: 'InProgress',
  } as const;
  return watcher({ stalePods, pending: { ...pending, owners: [owner], ...more } });
}

describe('the progress of a restart', () => {
  it('counts the Pods of each owner that have the new content, and those of them that are Ready', () => {
    const pods = [
      pod({}),
      pod({ ready: false }),
      pod({ created: beforeCutoff }),
      pod({ terminating: true }),
      pod({ of: ['ReplicaSet', 'webshop-5d4f'] }),
      pod({ of: ['StatefulSet', 'web'] }),
    ];
    assert.deepEqual(progressOf(underWay(), pods), {
      done: { restarted: 1, total: 3 },
      owners: [{ owner: 'Deployment/web', restarted: 2, available: 1, wanted: 3, state: 'InProgress' }],
    });
  });

  it('calls an owner Available with as many Pods as it wants, and knows owners that have no ReplicaSet', () => {
    const set = { ...owner, kind: 'StatefulSet', name: 'db', wanted: 1 };
    const { owners } = progressOf(underWay({ owners: [set] }), [pod({ of: ['StatefulSet', 'db'] })]);
    assert.deepEqual(owners, [
      { owner: 'StatefulSet/db', restarted: 1, available: 1, wanted: 1, state: 'Available' },
    ]);
  });

  it('counts every stale Pod where more became stale than it began with', () => {
    assert.deepEqual(progressOf(underWay({}, 5), []).done, { restarted: 0, total: 5 });
  });

  it('is that of the last restart while none is under way', () => {
    const lastRestart = {
      owners: [{ name: 'Deployment/web', restarted: 3, available: 3, reason: 'Available' }],
    };
    const last = [{ owner: 'Deployment/web', restarted: 3, available: 3, state: 'Available' }];
    assert.deepEqual(progressOf(watcher({ lastRestart }), []), { owners: last });
    const debounced = watcher({ lastRestart, pending: { hash: 'h', since: cutoff, reason: 'Debounce' } });
    assert.deepEqual(progressOf(debounced, []), { owners: last });
    assert.deepEqual(progressOf(watcher(), []), { owners: [] });
  });
});

it('names the sources of a watcher in their order', () => {
  const { metadata, spec } = watcher();
  const sources = [
    { kind: 'Secret', name: 'token' },
    { kind: 'ConfigMap', name: 'more' },
  ] as const;
  assert.deepEqual(sourcesOf({ metadata, spec: { ...spec, sources } }), [
    'web-config',
    'Secret/token',
    'more',
  ]);
});

describe('what stands in for Node.js in the browser', () => {
  it('removes escape sequences', () => {
    const { stripVTControlCharacters: strip } = inBrowser;
    assert.equal(strip('\u001b[1;31mred\u001b[0m and \u001b[2Kplain'), 'red and plain');
    assert.equal(strip('a [b] c'), 'a [b] c');
  });

  it('has no hashes, and says so', () => {
    assert.throws(hash, /no hashes/);
  });
});
