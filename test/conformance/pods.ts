/**
 * Conformance of Pods: defaults, scheduling gates, binding, and what may change in a spec.
 */
import assert from 'node:assert/strict';
import {
  assertRefused,
  type ConformanceRow,
  newName,
  pathsOf,
  podBody,
  type Subject,
  succeeded,
} from './subject.ts';

async function createPod({ api, namespace }: Subject, spec: object = {}, metadata: object = {}) {
  const name = newName('p');
  const { pods } = pathsOf(namespace);
  const { body } = succeeded(await api.send('POST', pods, { body: podBody(name, spec, metadata) }));
  return { name, path: `${pods}/${name}`, body };
}

const gates = [{ name: 'conformance.example.com/a' }, { name: 'conformance.example.com/b' }];
const gated = { nodeName: undefined, schedulingGates: gates };

function bindingTo(name: string, node: string): object {
  return { metadata: { name }, target: { kind: 'Node', name: node } };
}

export const podRows: readonly ConformanceRow[] = [
  {
    title: 'a new Pod gets its defaults, generation 1 and the phase Pending',
    async run(subject) {
      const { body } = await createPod(subject);
      const { spec, status, metadata } = body;
      assert.deepEqual(
        [spec.restartPolicy, spec.terminationGracePeriodSeconds, spec.dnsPolicy, spec.schedulerName],
        ['Always', 30, 'ClusterFirst', 'default-scheduler'],
      );
      const [container] = spec.containers;
      assert.deepEqual(
        [container.imagePullPolicy, container.terminationMessagePath, container.terminationMessagePolicy],
        ['IfNotPresent', '/dev/termination-log', 'File'],
      );
      assert.deepEqual(container.resources, {});
      assert.deepEqual(spec.securityContext, {});
      assert.equal(spec.serviceAccountName, 'default');
      assert.deepEqual(status, { phase: 'Pending', qosClass: 'BestEffort' });
      assert.equal(metadata.generation, 1);
    },
  },
  {
    title: 'a gated Pod says so, and cannot be bound',
    async run(subject) {
      const { name, path, body } = await createPod(subject, gated);
      const { lastTransitionTime, ...condition } = body.status.conditions[0];
      assert.match(lastTransitionTime, /Z$/);
      assert.deepEqual(condition, {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      });
      const { api } = subject;
      assertRefused(await api.send('POST', `${path}/binding`, { body: bindingTo(name, 'n') }), {
        code: 409,
        reason: 'Conflict',
        message: `Operation cannot be fulfilled on pods/binding "${name}": pod ${name} has non-empty .spec.schedulingGates`,
      });
      const bound = podBody(newName('p'), { schedulingGates: gates });
      assertRefused(await api.send('POST', pathsOf(subject.namespace).pods, { body: bound }), {
        code: 422,
        reason: 'Invalid',
        message: /spec\.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared/,
      });
    },
  },
  {
    title: 'gates can be taken off and not put on, which counts as a generation',
    async run(subject) {
      const { api } = subject;
      const { path } = await createPod(subject, gated);
      const patch = (schedulingGates: object[] | null) =>
        api.send('PATCH', path, { body: { spec: { schedulingGates } } });
      const causes = assertRefused(await patch([...gates, { name: 'conformance.example.com/c' }]), {
        code: 422,
        reason: 'Invalid',
        message: /only deletion is allowed, but found new scheduling gate 'conformance.example.com\/c'$/,
      });
      assert.equal(causes[0]?.field, 'spec.schedulingGates[2].name');
      const { body } = succeeded(await patch(gates.slice(1)));
      assert.equal(body.metadata.generation, 2);
      assert.deepEqual(body.spec.schedulingGates, gates.slice(1));
    },
  },
  {
    title: 'a Pod is bound once, and not while it is being deleted',
    async run(subject) {
      const { api } = subject;
      const schedulerName = 'none';
      const { name, path } = await createPod(subject, { nodeName: undefined, schedulerName });
      const bind = (node: string) => api.send('POST', `${path}/binding`, { body: bindingTo(name, node) });
      const done = succeeded(await bind('a'));
      assert.deepEqual(done.body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        code: 201,
      });
      const { body } = await api.send('GET', path);
      assert.equal(body.spec.nodeName, 'a');
      assert.equal(body.metadata.generation, 1);
      const { type, status } = body.status.conditions[0];
      assert.deepEqual([type, status], ['PodScheduled', 'True']);
      const refused = `Operation cannot be fulfilled on pods/binding "${name}": pod ${name} is`;
      const already = `${refused} already assigned to node "a"`;
      assertRefused(await bind('b'), { code: 409, reason: 'Conflict', message: already });
      succeeded(await api.send('DELETE', path));
      const deleted = `${refused} being deleted, cannot be assigned to a host`;
      assertRefused(await bind('b'), { code: 409, reason: 'Conflict', message: deleted });
    },
  },
  {
    title: 'of a spec the image, a shorter deadline and more tolerations may change, and nothing else',
    async run(subject) {
      const { api } = subject;
      const { path, body } = await createPod(subject);
      const patch = (spec: object) => api.send('PATCH', path, { body: { spec } });
      const [container] = body.spec.containers;
      succeeded(await patch({ containers: [{ ...container, image: 'busybox:2' }] }));
      succeeded(await patch({ activeDeadlineSeconds: 50 }));
      const last = succeeded(await patch({ activeDeadlineSeconds: 40 }));
      assert.equal(last.body.metadata.generation, 4);
      const toleration = { key: 'k', operator: 'Exists' };
      succeeded(await patch({ tolerations: [...body.spec.tolerations, toleration] }));
      const longer = {
        code: 422,
        reason: 'Invalid',
        message: /must be less than or equal to previous value$/,
      };
      assert.equal(
        assertRefused(await patch({ activeDeadlineSeconds: 60 }), longer)[0]?.field,
        'spec.activeDeadlineSeconds',
      );
      const fewer = {
        code: 422,
        reason: 'Invalid',
        message: /existing toleration can not be modified except/,
      };
      assertRefused(await patch({ tolerations: body.spec.tolerations }), fewer);
      for (const change of [
        { nodeName: 'other' },
        { restartPolicy: 'Never' },
        { containers: [{ ...container, command: ['x'] }] },
      ]) {
        const causes = assertRefused(await patch(change), {
          code: 422,
          reason: 'Invalid',
          message:
            /spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`/,
        });
        assert.deepEqual(
          causes.map(({ field, reason }) => [field, reason]),
          [['spec', 'FieldValueForbidden']],
        );
      }
    },
  },
  {
    title: 'a write to the status of a Pod changes labels too, and neither spec nor generation',
    async run(subject) {
      const { api } = subject;
      const { path } = await createPod(subject);
      const change = {
        metadata: { labels: { a: 'b' } },
        spec: { restartPolicy: 'Never' },
        status: { phase: 'Running' },
      };
      const { body } = succeeded(await api.send('PATCH', `${path}/status`, { body: change }));
      assert.deepEqual(
        [body.metadata.labels, body.spec.restartPolicy, body.status.phase, body.status.qosClass],
        [{ a: 'b' }, 'Always', 'Running', 'BestEffort'],
      );
      assert.equal(body.metadata.generation, 1);
    },
  },
  {
    title: 'a Pod that cannot be one is invalid in all its fields at once',
    async run({ api, namespace }) {
      const { pods } = pathsOf(namespace);
      const spec = { containers: [{ name: 'C_' }], restartPolicy: 'Foo' };
      const refused = { code: 422, reason: 'Invalid', message: /^Pod "bad" is invalid: \[/ };
      const causes = assertRefused(await api.send('POST', pods, { body: podBody('bad', spec) }), refused);
      assert.deepEqual(
        causes.map(({ field, reason }) => [field, reason]),
        [
          ['spec.containers[0].name', 'FieldValueInvalid'],
          ['spec.containers[0].image', 'FieldValueRequired'],
          ['spec.restartPolicy', 'FieldValueNotSupported'],
        ],
      );
      const empty = podBody('bad', { containers: [] });
      assertRefused(await api.send('POST', pods, { body: empty }), {
        code: 422,
        reason: 'Invalid',
        message: 'Pod "bad" is invalid: spec.containers: Required value',
      });
      const mounted = {
        containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/x' }] }],
      };
      assertRefused(await api.send('POST', pods, { body: podBody('bad', mounted) }), {
        code: 422,
        reason: 'Invalid',
        message: 'Pod "bad" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "v"',
      });
    },
  },
  {
    title: 'a field that no Pod has is dropped, and refused where that is asked for',
    async run({ api, namespace }) {
      const { pods } = pathsOf(namespace);
      const containers = [{ name: 'main', image: 'busybox:1', foo: 1 }];
      const body = podBody(newName('p'), { containers, bar: 1 });
      const refused = await api.send('POST', `${pods}?fieldValidation=Strict`, { body });
      assertRefused(refused, {
        code: 400,
        reason: 'BadRequest',
        message:
          'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].foo", unknown field "spec.bar"',
      });
      const created = succeeded(await api.send('POST', pods, { body }));
      assert.deepEqual([created.body.spec.bar, created.body.spec.containers[0].foo], [undefined, undefined]);
    },
  },
  {
    title: 'a Deployment is scaled through its subresource',
    async run({ api, namespace }) {
      const { deployments } = pathsOf(namespace);
      const name = newName('d');
      const labels = { app: name };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
      const spec = { replicas: 0, selector: { matchLabels: labels }, template };
      const created = succeeded(await api.send('POST', deployments, { body: { metadata: { name }, spec } }));
      assert.equal(created.body.spec.template.spec.restartPolicy, 'Always');
      assert.deepEqual(created.body.spec.strategy, {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
      });
      const path = `${deployments}/${name}`;
      const scaled = succeeded(await api.send('PATCH', `${path}/scale`, { body: { spec: { replicas: 3 } } }));
      assert.deepEqual(
        [scaled.body.kind, scaled.body.spec, scaled.body.status.selector],
        ['Scale', { replicas: 3 }, `app=${name}`],
      );
      const { body } = await api.send('GET', path);
      assert.deepEqual([body.spec.replicas, body.metadata.generation], [3, 2]);
      succeeded(await api.send('PATCH', `${path}/scale`, { body: { spec: { replicas: 0 } } }));
    },
  },
];
