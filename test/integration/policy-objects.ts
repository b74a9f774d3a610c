/** Objects that the operator writes, as the tests of the policies on it send them. */
export const prefix = 'cnat.programming-kubernetes.info/';
export const namespace = 'default';

export const at = {
  apiVersion: `${prefix}v1alpha1`,
  kind: 'At',
  metadata: { name: 'stored', namespace },
  spec: { schedule: '2099-01-01T00:00:00Z', command: 'echo YAY' },
};
/** Of a Pod that the API server is only asked about: there is no such At. */
export const owner = {
  ...{ apiVersion: at.apiVersion, kind: 'At', name: 'stored', controller: true },
  uid: '00000000-0000-4000-8000-000000000000',
};
export const configMapOwner = { ...owner, apiVersion: 'v1', kind: 'ConfigMap', controller: false };
export const container = { name: 'busybox', image: 'busybox' };

/** A Pod of an At, with these fields in place of the plain ones. */
export const pod = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'stored-pod', namespace, ownerReferences: [owner], ...metadata },
  spec: { containers: [container], ...spec },
});

const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** Near to what fits into etcd: an expression that costs too much is refused, as if it were false. */
export const largePodSpec = {
  containers: many(100, (index) => ({
    ...{ name: `c-${index}`, image: 'busybox', livenessProbe: { httpGet: { port: 80 } } },
    env: many(100, (key) => ({ name: `KEY_${key}`, value: 'x'.repeat(20) })),
    ports: many(20, (port) => ({ containerPort: 1000 + port })),
    securityContext: { capabilities: { add: ['CHOWN', 'KILL', 'SETUID'], drop: ['ALL'] } },
  })),
  volumes: many(200, (index) => ({ name: `v-${index}`, emptyDir: {} })),
};
export const manyAnnotations = Object.fromEntries(many(1000, (index) => [`example.com/key-${index}`, 'x']));
export const largeData = Object.fromEntries(many(10_000, (index) => [`key-${index}`, 'x'.repeat(50)]));
