/** Events as the API server takes them: its validation is stricter than any fake. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { events } from '../../src/runtime/events/event.ts';
import { EventBroadcaster } from '../../src/runtime/events/event-broadcaster.ts';
import type { EventRecord } from '../../src/runtime/events/event-recorder.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { namespaces } from '../fixtures/cluster-resources.ts';
import { connectToTestCluster, eventually, withNamespace } from './support.ts';

const launched: EventRecord = { type: 'Normal', reason: 'Launched', action: 'CreatePod', note: 'created it' };

let client: Client;
before(() => {
  client = connectToTestCluster().client;
});

function recording(t: TestContext) {
  const warnings: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (fields: unknown) => warnings.push(fields) };
  const broadcaster = new EventBroadcaster({
    ...{ client, gate: openGate, clock: systemClock, log, instance: 'host-1' },
  });
  t.after(() => broadcaster.stop(2000));
  return { broadcaster, recorder: broadcaster.recorder('example.com/test'), warnings };
}

/** The Events about an object, once there are that many. */
function eventsAbout({ metadata }: KubernetesObject, namespace: string, count: number) {
  return eventually(async () => {
    const { items } = await client.list(events, { namespace });
    const own = items.filter(({ regarding }) => regarding.uid === metadata.uid);
    return own.length === count && own;
  });
}

const clusterRoles: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};

describe('events on a real API server', () => {
  it('takes an Event about an object whose name is no name for an Event', async (t) => {
    const { recorder, warnings } = recording(t);
    const name = `system:controller:X_${randomBytes(5).toString('hex')}`;
    const object = await client.create(clusterRoles, { metadata: { name } });
    t.after(() => client.delete(clusterRoles, { name }));
    recorder.record(clusterRoles, object, launched);
    const [created] = await eventsAbout(object, 'default', 1);
    assert.equal(created?.regarding.name, name);
    assert.match(created?.metadata.name ?? '', /^system-controller-x-[0-9a-f]{10}\./);
    assert.deepEqual(warnings, []);
  });

  it('takes an Event about an object, and a series of it', async (t) => {
    const namespace = await withNamespace(t);
    const { recorder, warnings } = recording(t);
    const object = await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'a' } });
    recorder.record(configMaps, object, launched);
    const [created] = await eventsAbout(object, namespace, 1);
    assert.equal(created?.reportingController, 'example.com/test');
    assert.equal(created?.reportingInstance, 'host-1');
    assert.equal(created?.note, 'created it');
    assert.deepEqual(created?.regarding, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'a' },
      ...{ uid: object.metadata.uid, resourceVersion: object.metadata.resourceVersion },
    });
    assert.match(created?.eventTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    recorder.record(configMaps, object, launched);
    const series = await eventually(async () => (await eventsAbout(object, namespace, 1))[0]?.series);
    assert.equal(series.count, 2);
    assert.deepEqual(warnings, []);
  });

  it('takes one whose first repetition came before it was sent', async (t) => {
    const namespace = await withNamespace(t);
    const { recorder } = recording(t);
    const object = await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'a' } });
    for (let index = 0; index < 3; index++) recorder.record(configMaps, object, launched);
    const [created] = await eventsAbout(object, namespace, 1);
    assert.equal(created?.series?.count, 3);
  });

  it('takes one at every limit', async (t) => {
    const namespace = await withNamespace(t);
    const { recorder, warnings } = recording(t);
    const name = `${'n'.repeat(240)}.${'x'.repeat(12)}`;
    const object = await client.create<ConfigMap>(configMaps, { metadata: { namespace, name } });
    const [reason, action] = ['R'.repeat(200), 'A'.repeat(200)];
    recorder.record(configMaps, object, { type: 'Warning', reason, action, note: '€'.repeat(1024) });
    const [created] = await eventsAbout(object, namespace, 1);
    assert.equal(created?.note, '€'.repeat(341));
    assert.deepEqual(warnings, []);
  });

  it('takes one about an object without a namespace, in default', async (t) => {
    const namespace = await withNamespace(t);
    const { recorder } = recording(t);
    const object = await client.get(namespaces, { name: namespace });
    recorder.record(namespaces, object, launched);
    const [created] = await eventsAbout(object, 'default', 1);
    assert.equal(created?.regarding.kind, 'Namespace');
    await client.delete(events, { namespace: 'default', name: created?.metadata.name ?? '' });
  });

  it('gives up quietly in a namespace that is not there, and goes on with the next', async (t) => {
    const namespace = await withNamespace(t);
    const { recorder, warnings } = recording(t);
    recorder.record(
      configMaps,
      { metadata: { namespace: `${namespace}-gone`, name: 'a', uid: 'u' } },
      launched,
    );
    const object = await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'a' } });
    recorder.record(configMaps, object, launched);
    await eventsAbout(object, namespace, 1);
    assert.deepEqual(warnings, []);
  });

  it('is flushed by a stop', async (t) => {
    const namespace = await withNamespace(t);
    const { broadcaster, recorder } = recording(t);
    const object = await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'a' } });
    for (let index = 0; index < 20; index++) {
      recorder.record(configMaps, object, { ...launched, note: `note ${index}` });
    }
    await broadcaster.stop(30_000);
    const { items } = await client.list(events, { namespace });
    assert.equal(items.length, 20);
  });
});
