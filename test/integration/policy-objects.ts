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
