/**
 * From manifests to Helm and on, by the commands of docs/operations.md, with an At that waits: on a control plane of its own,
 * without the operator, because the matter is who owns which field.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { chart, helm, skip } from '../chart/helm.ts';
import { documentedCommand, runDocumented } from './documented-command.ts';

const namespace = '--namespace=atwatch-system';
const deployment = 'deployment/atwatch-controller-manager';

describe('an installation by manifests', { skip }, () => {
  let controlPlane: ControlPlane;
  let directory: string;
  let installer: string;

  const kubectl = (...args: string[]) => controlPlane.kubectl(args);
  const run = (command: string, ...args: string[]) =>
    helm([command, 'atwatch', ...args, namespace], { kubeconfig: controlPlane.kubeconfig, timeout: 120_000 });

  /** What says that the At still waits as it was made. */
  const waiting = () => kubectl('get', 'at/waiting', '--output=jsonpath={.metadata.uid} {.spec.schedule}');

  const edit = (path: string, change: (text: string) => string) =>
    readFile(path, 'utf8').then((text) => writeFile(path, change(text)));

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atwatch-upgrade-'));
    controlPlane = await startControlPlane({ scheduler: false });
    installer = await kubectl('kustomize', 'config/default');
    await writeFile(join(directory, 'install.yaml'), installer);
    await controlPlane.kubectl(['apply', '--server-side', '--filename=-'], installer);
    await kubectl(
      'wait',
      '--for=condition=Established',
      '--timeout=60s',
      'crd/ats.cnat.programming-kubernetes.info',
    );
    const at = {
      ...{
        apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
        kind: 'At',
        metadata: { name: 'waiting' },
      },
      spec: { schedule: '2099-01-01T00:00:00Z', command: 'echo YAY' },
    };
    await controlPlane.kubectl(['create', '--filename=-'], JSON.stringify(at));
  });
  after(async () => {
    await controlPlane?.stop();
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  it('takes manifests of another version, and the old ones again', async () => {
    const before = await waiting();
    const other = installer.replace('- --leader-elect\n', '- --leader-elect\n        - --log-level=debug\n');
    assert.notEqual(other, installer);
    for (const manifests of [other, installer]) {
      await controlPlane.kubectl(['apply', '--server-side', '--filename=-'], manifests);
      const args = await kubectl('get', deployment, namespace, '--output=jsonpath={..args}');
      assert.equal(args.includes('--log-level=debug'), manifests === other);
    }
    assert.equal(await waiting(), before);
  });

  it('is taken over by Helm, upgraded with a changed chart, and rolled back', async () => {
    const before = await waiting();
    await kubectl('delete', deployment, namespace);
    await run('install', chart, '--take-ownership', '--force-conflicts');
    const copy = join(directory, 'atwatch');
    await promisify(execFile)('cp', ['-R', chart, copy]);
    // A field that both own, in each of two kinds of objects.
    await edit(join(copy, 'files/crds/ats.yaml'), (text) =>
      text.replace('PENDING, RUNNING or DONE.', 'PENDING, RUNNING, or DONE.'),
    );
    await edit(join(copy, 'files/rbac/role.yaml'), (text) =>
      text.replace('verbs: [get, list, watch, delete]', 'verbs: [get, list, watch]'),
    );

    await assert.rejects(run('upgrade', copy), /conflict with "kubectl"/);
    const command = await documentedCommand('go-template', join(directory, 'install.yaml'));
    await runDocumented(command, controlPlane.kubeconfig);
    const label = '--output=jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce}';
    assert.equal(await kubectl('get', 'namespace/atwatch-system', label), 'restricted');
    await run('upgrade', copy, '--set=logLevel=debug');
    const args = () => kubectl('get', deployment, namespace, '--output=jsonpath={..args}');
    assert.match(await args(), /--log-level=debug/);
    await run('rollback', '1');
    assert.doesNotMatch(await args(), /--log-level=debug/);
    assert.equal(await waiting(), before);
  });

  it('leaves the Ats when Helm uninstalls it', async () => {
    const before = await waiting();
    await run('uninstall');
    assert.equal(await waiting(), before);
    assert.equal(await kubectl('get', deployment, namespace, '--ignore-not-found'), '');
  });
});
