import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcher, ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { outdated, unseen } from '../../../src/cli/configwatcher/sources.ts';
import { saySource, stateOf } from '../../../src/cli/configwatcher/state.ts';
import { lastEdit, reasonsOf, report } from '../../../src/cli/configwatcher/why.ts';
import { styleOf } from '../../../src/cli/output/style.ts';
import { contentHash } from '../../../src/configwatcher/plan/config-hash.ts';
import type { Condition, ConfigMap } from '../../../src/kubernetes/objects.ts';

const now = Date.UTC(2026, 10, 22, 9, 0);
const source = { kind: 'ConfigMap', name: 'web-config', keys: [], optional: false } as const;

function condition(type: string, status: Condition['status'], reason: string, message = ''): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-11-22T09:00:00Z' };
}

function watcher(status?: ConfigWatcherStatus): ConfigWatcher {
  const spec = { configMap: 'web-config', podSelector: { app: 'web' } };
  return { metadata: { name: 'w', namespace: 'dev', generation: 1 }, spec, ...(status && { status }) };
}

const configMap: ConfigMap = {
  metadata: {
    name: 'web-config',
    managedFields: [
      { manager: 'helm', time: '2026-11-22T08:00:00Z', fieldsV1: { 'f:data': {} } },
      { manager: 'kubectl-edit', time: '2026-11-22T08:50:00Z', fieldsV1: { 'f:data': { 'f:a': {} } } },
      { manager: 'labeler', time: '2026-11-22T08:59:00Z', fieldsV1: { 'f:metadata': {} } },
    ],
  },
  data: { a: 'b' },
};
const upToDate = condition('Progressing', 'False', 'UpToDate');
const hash = contentHash(source, configMap);

describe('the state of a ConfigWatcher', () => {
  const rows: readonly (readonly [word: string, tone: string, status: ConfigWatcherStatus | undefined])[] = [
    ['Unseen', 'bad', undefined],
    ['UpToDate', 'good', { observedGeneration: 1, conditions: [upToDate] }],
    [
      'Forbidden',
      'bad',
      { observedGeneration: 1, conditions: [condition('Ready', 'False', 'Forbidden'), upToDate] },
    ],
    [
      'NewPodsNotAvailable',
      'bad',
      { observedGeneration: 1, conditions: [condition('Stalled', 'True', 'NewPodsNotAvailable')] },
    ],
    [
      'Window',
      'warn',
      {
        observedGeneration: 1,
        pending: { hash: 'h', since: 's' },
        conditions: [condition('Progressing', 'True', 'Window')],
      },
    ],
    [
      'InProgress',
      'busy',
      {
        observedGeneration: 1,
        pending: { hash: 'h', since: 's', started: 's' },
        conditions: [condition('Progressing', 'True', 'InProgress')],
      },
    ],
  ];
  for (const [word, tone, status] of rows) {
    it(`may be ${word}`, () => {
      const state = stateOf(watcher(status));
      assert.deepEqual([state.word, state.tone], [word, tone]);
    });
  }
});

describe('the content of a source', () => {
  const present = [{ source, object: configMap }];
  const status = (applied: string) => ({
    sources: [{ kind: 'ConfigMap', name: 'web-config', hash: applied }],
  });

  it('runs where status has its hash, and not before', () => {
    assert.deepEqual(outdated(watcher(status(hash)), present), []);
    assert.equal(outdated(watcher(status('v1:other')), present).length, 1);
    assert.equal(outdated(watcher({}), present).length, 1);
    assert.equal(outdated(watcher(status(hash)), [{ source, object: undefined }]).length, 1);
  });

  it('is seen where status has its hash, as the applied or the pending one', () => {
    const of = (recorded: object) => ({ sources: [{ kind: 'ConfigMap', name: 'web-config', ...recorded }] });
    const short = hash.slice(0, 'v1:'.length + 24);
    for (const seen of [
      { hash },
      { hash: 'v1:other', pendingHash: hash },
      { hash: short.replace(/.{4}$/, 'beef'), pendingHash: short.slice('v1:'.length) },
    ]) {
      assert.deepEqual(unseen(watcher(of(seen)), present), [], JSON.stringify(seen));
    }
    assert.equal(unseen(watcher(of({ hash, pendingHash: 'v1:other' })), present).length, 1);
    assert.equal(unseen(watcher(of({ hash: 'v1:other' })), present).length, 1);
    assert.equal(unseen(watcher({}), present).length, 1);
  });

  it('was edited by the client that wrote data last, not labels', () => {
    assert.deepEqual(lastEdit(configMap), { time: Date.UTC(2026, 10, 22, 8, 50), manager: 'kubectl-edit' });
    assert.equal(lastEdit({ metadata: { name: 'x' } }), undefined);
  });

  it('is named with its keys', () => {
    assert.equal(
      saySource({ kind: 'ConfigMap', name: 'x', changedKeys: ['a', 'b', '+3'] }),
      'ConfigMap x (a, b, +3)',
    );
    assert.equal(saySource({}), 'a source');
  });
});

it('why tells which restart made a Pod, and the ones before', () => {
  const restart = (at: string, until: string) => ({
    startTime: at,
    completionTime: until,
    trigger: { kind: 'ConfigMap', name: 'web-config' },
    restarted: 2,
  });
  const last = restart('2026-11-22T08:50:02Z', '2026-11-22T08:50:20Z');
  const status: ConfigWatcherStatus = {
    observedGeneration: 1,
    conditions: [upToDate],
    sources: [{ kind: 'ConfigMap', name: 'web-config', hash }],
    lastRestart: { ...last, trigger: { ...last.trigger, changedKeys: ['a'] } },
    history: [last, restart('2026-11-22T07:00:00Z', '2026-11-22T07:01:00Z')],
  };
  const facts = {
    subject: { title: 'pod/p', labels: {}, createdAt: Date.UTC(2026, 10, 22, 8, 50, 10) },
    present: [{ source, object: configMap }],
    view: { now, zone: 'UTC' },
    style: styleOf({ write() {}, isTerminal: false }, {}),
  };
  assert.deepEqual(report(watcher(status), facts), [
    'configwatcher/w selects pod/p: UpToDate',
    '  pending    nothing: the Pods run with the present content',
    '  source     ConfigMap web-config, last written 10m ago with kubectl-edit',
    '  restart    9m40s ago: 2 Pods, because of ConfigMap web-config (a); pod/p was made by it',
    '  restart    1h59m ago: 2 Pods, because of ConfigMap web-config',
  ]);
  assert.deepEqual(reasonsOf(watcher(status), facts.subject, facts.present), {
    ...{ name: 'w', state: 'UpToDate', stalePods: 0 },
    sources: [
      {
        ...{ kind: 'ConfigMap', name: 'web-config', exists: true, isSeen: true },
        lastWritten: { time: '2026-11-22T08:50:00Z', manager: 'kubectl-edit' },
      },
    ],
    restarts: [
      { ...status.lastRestart, madeIt: true },
      { ...status.history?.[1], madeIt: false },
    ],
  });
  const fresh = report(watcher({ observedGeneration: 1, conditions: [upToDate] }), facts);
  assert.deepEqual(
    [fresh[1], fresh[3]],
    [
      '  pending    the operator has not seen the last edit of ConfigMap web-config yet',
      '  restarts   none so far',
    ],
  );
});
