/**
 * Every way from one installation of the operator to another, on a real node, while Ats wait and a restart is in the
 * middle. What each change leaves is where the next one begins.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { chart, helm, skip } from '../../chart/helm.ts';
import { manifests, pullableImage } from '../deployment.ts';
import { documentedCommand, runDocumented } from '../documented-command.ts';
import { eventually, kubectl, withNamespace } from '../kubectl.ts';
import { type PreviousRelease, previousRelease, previousSources } from './previous-release.ts';
import { UpgradeStory } from './upgrade-story.ts';

const image = skip === false ? await pullableImage() : { why: skip };
const system = '--namespace=atwatch-system';
const deployment = 'deployment/atwatch-controller-manager';
const kubeconfig = process.env.KUBECONFIG ?? '';

const apply = async (text: string) => {
  await kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], text);
  await kubectl(['rollout', 'status', deployment, system, '--timeout=110s']);
};

const run = (command: string, ...args: string[]) =>
  helm([command, 'atwatch', ...args, system, '--timeout=110s'], { kubeconfig, timeout: 120_000 });

/** The image of a name, as values have it. */
const imageValue = (name: string) => {
  const [repository, tag] = name.split(':');
  return `--set-json=image=${JSON.stringify({ repository, tag })}`;
};

const operatorPods = async (): Promise<Pod[]> =>
  JSON.parse(await kubectl(['get', 'pods', system, '--selector=role=operator', '--output=json'])).items;

const lease = () => kubectl(['get', 'lease/atwatch', system, '--ignore-not-found', '--output=name']);

const sources = previousSources();

describe(`waiting Ats and restarts in the middle outlive, from ${sources.name},`, {
  skip: 'why' in image && image.why,
}, () => {
  const today = 'name' in image ? image.name : '';
  const ends: (() => unknown)[] = [];
  let previous: PreviousRelease;
  let previousImage: string;
  let directory: string;
  let story: UpgradeStory;

  const installer = () => manifests('config/default', today);
  /** The manifests that are installed, as a file. */
  const installerFile = async () => {
    const path = join(directory, 'install.yaml');
    await writeFile(path, await installer());
    return path;
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atwatch-upgrade-paths-'));
    previous = previousRelease(sources);
    previousImage = 'name' in image ? await image.loadPrevious(previous.bundle()) : '';
    await apply(await previous.manifests(previousImage));
    const namespace = await withNamespace({ after: (end) => void ends.push(end) });
    story = new UpgradeStory(namespace);
    await story.begin();
  });
  after(async () => {
    await story?.end();
    for (const end of ends) await end();
    await helm(['uninstall', 'atwatch', system, '--ignore-not-found'], { kubeconfig });
    await kubectl(['delete', '--ignore-not-found', '--wait=false', '--filename=-'], await installer());
    await rm(directory, { recursive: true, force: true });
    previous?.remove();
  });

  it('manifests of a newer version', () => story.during(async () => await apply(await installer())));

  it('the older manifests again', () =>
    story.during(async () => await apply(await previous.manifests(previousImage))));

  it('the move from manifests to Helm', () =>
    story.during(async () => {
      await kubectl(['delete', deployment, system]);
      const adopt = ['--take-ownership', '--force-conflicts', '--wait'];
      await run('install', previous.chart, imageValue(previousImage), ...adopt);
      const file = join(directory, 'install.yaml');
      await writeFile(file, await previous.manifests(previousImage));
      await runDocumented(await documentedCommand('go-template', file), kubeconfig);
    }));

  it('the upgrade by Helm after that, with changed values', () =>
    story.during(async () => {
      const values = ['--reset-then-reuse-values', imageValue(today), '--set=logLevel=debug,replicas=2'];
      await run('upgrade', chart, ...values, '--wait');
      await eventually('two new Pods', async () => {
        const pods = await operatorPods();
        return (
          pods.length === 2 &&
          pods.every(({ spec }) => spec.containers?.[0]?.args?.includes('--log-level=debug'))
        );
      });
    }));

  it('a rollback by Helm', () =>
    story.during(async () => {
      await run('rollback', '--wait');
      await eventually('the old Pod alone', async () => {
        const pods = await operatorPods();
        return pods.length === 1 && pods[0]?.spec.containers?.[0]?.image === previousImage;
      });
      await run('upgrade', chart, '--reset-then-reuse-values', imageValue(today), '--wait');
    }));

  it('helm uninstall, which leaves no Lease behind, and a new installation', () =>
    story.during(async () => {
      // Without --wait: the Pod has not ended when its rights are gone.
      await run('uninstall');
      assert.equal(await lease(), '');
      await eventually('the end of the Pods', async () => (await operatorPods()).length === 0);
      assert.equal(await lease(), '');
      await run('install', chart, imageValue(today), '--wait');
    }));

  it('the deletion of everything but the CRDs, and an installation by manifests', () =>
    story.during(async () => {
      await run('uninstall', '--wait');
      await apply(await installer());
      const command = await documentedCommand(
        'kubectl delete namespace atwatch-system',
        await installerFile(),
      );
      await runDocumented(command, kubeconfig);
      assert.equal(await lease(), '');
      await apply(await installer());
    }));
});
