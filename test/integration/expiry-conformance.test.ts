/** On a control plane of its own: etcd is compacted, and the API server killed. */
import { after, before, describe, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { simulatedVersion } from '../../src/testing/api-server/discovery.ts';
import { type ExpirySubject, expiryRows } from '../conformance/expiry.ts';
import { rawRequests } from '../conformance/raw-requests.ts';
import { compact } from './etcd.ts';
import { newConnection, skipBefore } from './support.ts';

const skip = await skipBefore(
  Number(simulatedVersion.minor),
  'words and defaults were others than the fake one has',
);

describe('the real API server forgets the past as the fake one does', { skip }, () => {
  let plane: ControlPlane;
  let subject: ExpirySubject;
  before(async () => {
    plane = await startControlPlane({ controllerManager: false, scheduler: false });
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(plane.kubeconfig);
    const { client } = newConnection({ kubeConfig });
    subject = {
      ...{ client, namespace: 'default', api: await rawRequests(kubeConfig) },
      async forgetThePast() {
        await compact(plane);
        await plane.stopApiServer();
        await plane.startApiServer();
      },
    };
  });
  after(() => plane.stop());
  for (const { title, run } of expiryRows) test(title, () => run(subject));
});
