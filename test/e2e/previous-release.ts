/**
 * The release to upgrade from: chart and manifests of the git revision PREVIOUS_REVISION of the environment, else today's
 * under an older version. Either way with the image of {@link previousVersion}.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chart } from '../chart/helm.ts';
import { kubectl } from './kubectl.ts';
import { previousVersion } from './previous-image.ts';

export interface PreviousRelease {
  /** The folder of the chart. */
  readonly chart: string;
  manifests(image: string): Promise<string>;
  remove(): void;
}

export function previousRelease(): PreviousRelease {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-previous-release-'));
  const revision = process.env.PREVIOUS_REVISION;
  if (revision) {
    const archive = execFileSync('git', ['archive', revision, 'config', 'crds', 'charts'], {
      maxBuffer: 1 << 28,
    });
    execFileSync('tar', ['-C', directory, '-xf', '-'], { input: archive });
  } else {
    for (const folder of ['config', 'crds', 'charts'])
      cpSync(folder, join(directory, folder), { recursive: true });
  }
  const metadata = join(directory, chart, 'Chart.yaml');
  const text = readFileSync(metadata, 'utf8');
  writeFileSync(metadata, text.replace(/^version: .*/m, `version: ${previousVersion}`));
  return {
    chart: join(directory, chart),
    async manifests(image) {
      const rendered = await kubectl(['kustomize', join(directory, 'config/default')]);
      return rendered.replaceAll('image: atwatch:latest', `image: ${image}`);
    },
    remove() {
      if (existsSync(directory)) rmSync(directory, { recursive: true });
    },
  };
}
