import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cniConfig, containerdConfig, kubeletConfig } from '../../local-cluster/node-config.ts';

test('every folder of containerd is the cluster’s own', () => {
  const config = containerdConfig({ directory: '/tmp/cluster', cni: '/usr/lib/cni' });
  const paths = [...config.matchAll(/^\s*(?:root|state|address|path|config_path|conf_dir) = "(.*)"$/gm)];
  assert.equal(paths.length, 6);
  assert.ok(paths.every(([, path]) => path?.startsWith('/tmp/cluster/')));
  assert.match(config, /bin_dir = "\/usr\/lib\/cni"/);
});

test('the Pods get their addresses from the node’s network', () => {
  const config = JSON.parse(cniConfig('198.19.7.0/24'));
  assert.deepEqual(config.plugins[0].ipam.ranges, [[{ subnet: '198.19.7.0/24' }]]);
});

test('kubelet keeps to its own control group and its own folders', () => {
  const pki = (name: string) => `/tmp/cluster/pki/${name}`;
  const config = JSON.parse(kubeletConfig({ directory: '/tmp/cluster', cgroup: 'mine', pki }));
  assert.equal(config.cgroupRoot, '/mine');
  assert.equal(config.containerRuntimeEndpoint, 'unix:///tmp/cluster/containerd/containerd.sock');
  assert.equal(config.podLogsDir, '/tmp/cluster/pod-logs');
  assert.equal(config.authentication.x509.clientCAFile, '/tmp/cluster/pki/ca.crt');
});
