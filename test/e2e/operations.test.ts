/**
 * The documents' commands that install, change and remove the operator, as they stand there, on a real node that has the
 * image which they name.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { findHelm } from '../../hack/helm/program.ts';
import { imageArchive } from '../../hack/image/local-archive.ts';
import { helm, skip } from '../chart/helm.ts';
import { pullableImage } from './deployment.ts';
import { administration, documentedCommand, runDocumented } from './documented-command.ts';
import { kubectl } from './kubectl.ts';

const image = skip === false ? await pullableImage() : { why: skip };
const installer = 'dist/install.yaml';

/** Of each way a part of every block that is run, in its order, and what is to be seen in its output. */
const ways: Record<string, readonly (readonly [part: string, shown?: RegExp])[]> = {
  'by manifests, and all of it is removed': [
    ['make build-installer', /successfully rolled out/],
    ['kubectl kustomize config/default', /validatingadmissionpolicy\S+ serverside-applied/],
    ['logs deployment/atwatch-controller-manager', /"msg":"/],
    ['port-forward deployment/atwatch-controller-manager 18080', /^leader_election_master_status/m],
    ['create clusterrolebinding', /prometheus-atwatch created/],
    ['make undeploy', /customresourcedefinition\S+ "ats\.cnat\S+" deleted/],
  ],
  'by manifests, and the objects of users stay': [
    ['make build-installer', /successfully rolled out/],
    ['kubectl delete namespace', /clusterrole\S+ "atwatch\S+" deleted/],
    ['release-pods', /./],
  ],
  'from the working tree': [
    ['local-cluster/main.ts load', /deployment\S+ serverside-applied/],
    ['make undeploy', /deployment\S+ "atwatch-controller-manager" deleted/],
  ],
  'by Helm': [
    ['kubectl create namespace', /STATUS: deployed/],
    ['helm rollback', /Rollback was a success/],
    ['--set=profiling.enabled=true', /STATUS: deployed/],
    ['helm uninstall', /release "atwatch" uninstalled/],
  ],
  'by Helm, into a namespace that it makes': [
    ['--create-namespace', /STATUS: deployed/],
    ['helm uninstall', /release "atwatch" uninstalled/],
  ],
  'by manifests, and by Helm from then on': [
    ['make build-installer', /successfully rolled out/],
    ['--take-ownership', /STATUS: deployed/],
    ['go-template', /clusterrole\S+ serverside-applied/],
    ['helm rollback', /STATUS: deployed/],
    ['helm uninstall', /release "atwatch" uninstalled/],
  ],
};

const profiles = ['cpu.cpuprofile', 'heap.heapsnapshot'];
const label = '--selector=app.kubernetes.io/name=atwatch';

describe('the operator is installed', { skip: 'why' in image && image.why }, () => {
  let programs: string;

  before(async () => {
    const { path } = await imageArchive();
    const load = ['local-cluster/main.ts', 'load', path, 'registry.example/atwatch:0.1.0'];
    await promisify(execFile)(process.execPath, load);
    programs = await mkdtemp(join(tmpdir(), 'atwatch-programs-'));
    await symlink(await findHelm(), join(programs, 'helm'));
    // Other tests leave their CRDs, which Helm takes for those of another release.
    await kubectl(['delete', '--ignore-not-found', '--kustomize=crds']);
  });
  afterEach(async () => {
    const options = { kubeconfig: process.env.KUBECONFIG, timeout: 120_000 };
    await helm(['uninstall', 'atwatch', '--namespace=atwatch-system', '--ignore-not-found'], options);
    const clusterScoped = 'crds,clusterroles,clusterrolebindings,validatingadmissionpolicies';
    await kubectl(['delete', `${clusterScoped},validatingadmissionpolicybindings`, label]);
    await kubectl(['delete', '--ignore-not-found', 'namespace/atwatch-system']);
    await kubectl(['delete', '--ignore-not-found', 'clusterrolebinding/prometheus-atwatch']);
  });
  after(async () => {
    if (programs) await rm(programs, { recursive: true, force: true });
    await Promise.all(profiles.map((file) => rm(file, { force: true })));
  });

  for (const [way, steps] of Object.entries(ways)) {
    it(way, { timeout: 600_000 }, async () => {
      for (const [part, shown = /^/] of steps) {
        const command = await documentedCommand(part, installer);
        const PATH = `${programs}:${process.env.PATH}`;
        assert.match(await runDocumented(command, process.env.KUBECONFIG ?? '', { PATH }), shown, command);
      }
    });
  }

  it('by each command that says that it is run here', async () => {
    const marked = (await administration()).filter(({ runBy }) => runBy === 'test/e2e/operations.test.ts');
    const run = await Promise.all(
      Object.values(ways).flatMap((steps) => steps.map(([part]) => documentedCommand(part, installer))),
    );
    assert.deepEqual(new Set(marked.map(({ text }) => text)), new Set(run));
  });
});
