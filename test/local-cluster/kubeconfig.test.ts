import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { renderKubeconfig } from '../../local-cluster/kubeconfig.ts';

test('a client reads the server and the credentials from it', () => {
  const config = new KubeConfig();
  config.loadFromString(
    renderKubeconfig({
      server: 'https://127.0.0.1:6443',
      authority: 'the authority',
      user: { certificate: 'the certificate', key: 'the key' },
    }),
  );
  const decode = (text: string | undefined) => Buffer.from(text ?? '', 'base64').toString();
  assert.equal(config.getCurrentCluster()?.server, 'https://127.0.0.1:6443');
  assert.equal(decode(config.getCurrentCluster()?.caData), 'the authority');
  assert.equal(decode(config.getCurrentUser()?.certData), 'the certificate');
  assert.equal(decode(config.getCurrentUser()?.keyData), 'the key');
});
