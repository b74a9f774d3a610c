import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubernetesObject, pods, type Resource } from '../../../src/kubernetes/objects.ts';
import { cutBytes, eventName, eventOf } from '../../../src/runtime/events/event.ts';
import { fc } from '../../fixtures/property.ts';

const record = { type: 'Normal', reason: 'Launched', action: 'CreatePod', note: 'created Pod a' } as const;
const now = Date.UTC(2024, 0, 1, 12, 0, 0, 250);
const reporter = { reportingController: 'example.com/pods', reportingInstance: 'host-1', now, suffix: '17a' };

describe('eventOf', () => {
  it('is an events.k8s.io/v1 Event about the object, in its namespace', () => {
    const regarding = {
      metadata: { name: 'a', namespace: 'team', uid: 'u1', resourceVersion: '7' },
    };
    assert.deepEqual(eventOf({ ...reporter, resource: pods, regarding, record }), {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'a.17a', namespace: 'team' },
      eventTime: '2024-01-01T12:00:00.250000Z',
      type: 'Normal',
      reason: 'Launched',
      action: 'CreatePod',
      note: 'created Pod a',
      regarding: {
        ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'team', name: 'a', uid: 'u1', resourceVersion: '7' },
      },
      reportingController: 'example.com/pods',
      reportingInstance: 'host-1',
    });
  });

  it('lives in `default` when the object has no namespace, and the reference has none', () => {
    const resource: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
    const regarding: KubernetesObject = { metadata: { name: 'n1', uid: 'u' } };
    const event = eventOf({ ...reporter, resource, regarding, record });
    assert.equal(event.metadata.namespace, 'default');
    assert.deepEqual(event.regarding, { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' });
  });

  it('keeps within the limits of the API', () => {
    const regarding = { metadata: { name: 'a', namespace: 'team' } };
    const long = 'x'.repeat(2000);
    const event = eventOf({
      ...{ ...reporter, reportingInstance: long, resource: pods, regarding },
      record: { type: 'Warning', reason: long, action: long, note: long },
    });
    const lengths = [event.reason, event.action, event.note, event.reportingInstance].map((x) => x.length);
    assert.deepEqual(lengths, [128, 128, 1024, 128]);
  });
});

describe('eventName', () => {
  it('cuts a long object name so that the whole is a valid name', () => {
    assert.equal(eventName('a', 'ff'), 'a.ff');
    assert.equal(eventName('a'.repeat(253), 'ff').length, 253);
    const cutAtDot = `${'a'.repeat(249)}.bbb`;
    assert.equal(eventName(cutAtDot, 'ff'), `${'a'.repeat(249)}.ff`);
  });

  it('has a `-` for what may not be in a name', () => {
    assert.equal(eventName('system:controller:x', 'ff'), 'system-controller-x.ff');
    assert.equal(eventName('system:Node_1', 'ff'), 'system-node-1.ff');
    assert.equal(eventName('a.-b-..:', 'ff'), 'a.b.ff');
    assert.equal(eventName('::', 'ff'), 'ff');
  });

  it('is a DNS subdomain, whatever the object is named', () => {
    const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
    const name = fc.string({ unit: fc.constantFrom(...'aZ0-.:_İ😀/ '), maxLength: 300 });
    fc.assert(
      fc.property(name, (object) => {
        const given = eventName(object, '17a');
        assert.match(given, subdomain);
        assert.ok(given.length <= 253);
        if (object.length < 250 && subdomain.test(object)) assert.equal(given, `${object}.17a`);
      }),
    );
  });
});

describe('cutBytes', () => {
  it('ends between characters', () => {
    assert.equal(cutBytes('aä', 2), 'a');
    assert.equal(cutBytes('a😀', 4), 'a');
    assert.equal(cutBytes('a😀', 5), 'a😀');
  });

  it('always gives a beginning of the text, well formed, within the limit, and as long as possible', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, limit) => {
        const cut = cutBytes(text, limit);
        const bytes = Buffer.byteLength(cut);
        assert.ok(text.startsWith(cut) && bytes <= limit && cut.isWellFormed());
        const rest = [...text.slice(cut.length)];
        assert.ok(rest.length === 0 || bytes + Buffer.byteLength(rest[0] ?? '') > limit);
      }),
    );
  });

  it('mends what is no text at all', () => {
    assert.equal(cutBytes('a\ud800b', 10), 'a\ufffdb');
  });
});
