/**
 * The release to upgrade from: its sources as they were, so its chart, its manifests and the operator that is built of
 * them. Where the history does not have it, it is today's tree under an older version, and the name of the tests says so.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chart } from '../../chart/helm.ts';
import { kubectl } from '../kubectl.ts';
import { previousVersion } from '../previous-image.ts';

/** What counts as the previous release until there is a tag: the first commit with the packages of today. */
const beforeTheFirstRelease = 'd5b3df2895b98b349315b12000572800927eebcb';

/** Which sources are upgraded from. */
export interface PreviousSources {
  /** As git takes it; undefined for this tree. */
  readonly revision?: string;
  /** What they are, for people. */
  readonly name: string;
}

/**
 * Those of PREVIOUS_REVISION in the environment, or of the newest release before this commit.
 *
 * @throws {Error} when the history lacks PREVIOUS_REVISION
 */
export function previousSources(): PreviousSources {
  const { PREVIOUS_REVISION: wanted } = process.env;
  const tag = () => git('describe', '--tags', '--match=v*', '--abbrev=0', 'HEAD^');
  const revision = wanted || tag() || beforeTheFirstRelease;
  if (git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)) return { revision, name: revision };
  if (wanted) throw new Error(`the history lacks ${wanted}`);
  return { name: `this tree under an older version, because the history lacks ${revision}` };
}

export interface PreviousRelease {
  /** The folder of the chart. */
  readonly chart: string;
  /** Builds the operator, and returns the path of its bundle. */
  bundle(): string;
  manifests(image: string): Promise<string>;
  remove(): void;
}

export function previousRelease({ revision }: PreviousSources): PreviousRelease {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-previous-release-'));
  if (revision !== undefined) unpack(revision, directory);
  else copyManifests(directory);
  const metadata = join(directory, chart, 'Chart.yaml');
  const text = readFileSync(metadata, 'utf8');
  writeFileSync(metadata, text.replace(/^version: .*/m, `version: ${previousVersion}`));
  return {
    chart: join(directory, chart),
    bundle: () => (revision !== undefined ? build(directory) : 'dist/atwatch.js'),
    async manifests(image) {
      const rendered = await kubectl(['kustomize', join(directory, 'config/default')]);
      return rendered.replaceAll('image: atwatch:latest', `image: ${image}`);
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** What git says; undefined when it fails. */
function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function copyManifests(directory: string): void {
  for (const folder of ['config', 'crds', 'charts']) {
    cpSync(folder, join(directory, folder), { recursive: true });
  }
}

function unpack(revision: string, directory: string): void {
  const input = execFileSync('git', ['archive', revision], { maxBuffer: 1 << 28 });
  execFileSync('tar', ['-C', directory, '-xf', '-'], { input });
}

/** With the packages of that time, which are installed when they are not those of today. */
function build(directory: string): string {
  const lock = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lock(directory) === lock('.')) symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  else
    execFileSync('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--loglevel=error'], {
      cwd: directory,
    });
  execFileSync(process.execPath, ['hack/build.ts'], { cwd: directory });
  return join(directory, 'dist/atwatch.js');
}
