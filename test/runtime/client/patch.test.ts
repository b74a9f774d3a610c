/** Patch: that the builders say what they are given, and that the types refuse what the API server would drop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods } from '../../../src/kubernetes/objects.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { finalizerPatch, hasFinalizer } from '../../../src/runtime/client/finalizer.ts';
import { applyPatch, statusPatch } from '../../../src/runtime/client/patch.ts';
import { type Widget, widgets } from '../../conformance/subject.ts';

const widget: Widget = { metadata: { namespace: 'n', name: 'a', resourceVersion: '7' }, spec: { size: 1 } };

test('a status patch is conditional', () => {
  assert.deepEqual(statusPatch(widget, { phase: 'Ready', count: null }), {
    type: 'merge',
    body: { metadata: { resourceVersion: '7' }, status: { phase: 'Ready', count: null } },
  });
});

test('an apply patch has its manager and, unless it is asked for, no force', () => {
  const body = { metadata: { name: 'a' } };
  assert.deepEqual(applyPatch(body, { fieldManager: 'me' }), {
    ...{ type: 'apply', body, fieldManager: 'me', force: false },
  });
});

const withFinalizers = (finalizers: readonly string[], more = {}): Widget => ({
  ...widget,
  metadata: { ...widget.metadata, finalizers, ...more },
});
const version = { op: 'test', path: '/metadata/resourceVersion', value: '7' };
const path = '/metadata/finalizers';
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const rows = [
  { name: 'the first', object: widget, wanted: 'present', change: { op: 'add', path, value: ['f'] } },
  {
    name: 'one more',
    object: withFinalizers(['g']),
    wanted: 'present',
    change: { op: 'add', path: `${path}/-`, value: 'f' },
  },
  { name: 'there already', object: withFinalizers(['f']), wanted: 'present', change: undefined },
  { name: 'too late', object: withFinalizers(['g'], leaving), wanted: 'present', change: undefined },
  {
    name: 'removed',
    object: withFinalizers(['g', 'f'], leaving),
    wanted: 'absent',
    change: { op: 'remove', path: `${path}/1` },
  },
  { name: 'not there', object: widget, wanted: 'absent', change: undefined },
] as const;
for (const { name, object, wanted, change } of rows) {
  test(`a finalizer: ${name}`, () => {
    const expected = change && { type: 'json', operations: [version, change] };
    assert.deepEqual(finalizerPatch(object, 'f', wanted), expected);
  });
}

test('a finalizer of an object that was never stored cannot be tested for', () => {
  assert.throws(() => finalizerPatch({ metadata: { name: 'a' } }, 'f', 'present'), /has no resourceVersion/);
  assert.equal(hasFinalizer({ metadata: { name: 'a' } }, 'f'), false);
});

/** Never called: the type checker is the test, and fails where an expected error does not come. */
export async function typesHold(client: Client): Promise<void> {
  const key = { namespace: 'n', name: 'a' };
  await client.create(pods, { metadata: { namespace: 'n', generateName: 'a-' }, spec: { containers: [] } });
  // @ts-expect-error: neither name nor generateName
  await client.create(pods, { metadata: { namespace: 'n' }, spec: { containers: [] } });
  await client.apply(widgets, { metadata: key, spec: { text: 'a' } });
  // @ts-expect-error: no such field
  await client.apply(widgets, { metadata: key, spec: { texts: 'a' } });
  await client.patch(widgets, key, { type: 'merge', body: { spec: { text: null } } });
  // @ts-expect-error: a number is wanted
  await client.patch(widgets, key, { type: 'merge', body: { spec: { size: '1' } } });
  await client.patchStatus(widgets, key, statusPatch(widget, { count: 1 }));
  // @ts-expect-error: the fields of the status without the status
  await client.patchStatus(widgets, key, { type: 'merge', body: { count: 1 } });
}
