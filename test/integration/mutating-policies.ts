/** Mutating policies: whether the API server under test serves them in v1, as Kubernetes does from 1.36 on. */
import { discover } from '../../src/runtime/client/discovery.ts';
import { connectToTestCluster } from './support.ts';

const { client } = connectToTestCluster();
const served = await discover(client, { group: 'admissionregistration.k8s.io', version: 'v1' });

/** Why a test that needs them is skipped. */
export const noMutatingPolicies = served.has('mutatingadmissionpolicies')
  ? false
  : 'this API server serves no MutatingAdmissionPolicy in v1';
