/** The tree that a release is made of: committed, complete, and of the version that it says. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Checksums } from './checksums.ts';
import { sha256Of } from './checksums.ts';
import { ReleaseError } from './release-error.ts';

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

/**
 * The commit.
 *
 * @throws {ReleaseError} when files differ from it, or say another version
 */
export function releasableRevision(version: string): string {
  const changes = git('status', '--porcelain');
  if (changes !== '') throw new ReleaseError(`the tree is not clean, commit or remove first:\n${changes}`);
  for (const [file, found] of versions()) {
    if (found !== version)
      throw new ReleaseError(`${file} says version ${found}, not ${version}: commit it first`);
  }
  return git('rev-parse', 'HEAD');
}

function versions(): [string, string][] {
  const chart = parse(readFileSync('charts/atwatch/Chart.yaml', 'utf8'));
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  return [
    ['package.json', version],
    ['charts/atwatch/Chart.yaml', chart.version],
    ['charts/atwatch/Chart.yaml (appVersion)', chart.appVersion],
  ];
}

/** The files that pin what is downloaded, by their paths. */
export async function locks(): Promise<Checksums> {
  const files = ['package-lock.json', 'Dockerfile', 'hack/helm/go.sum', 'hack/cosign/go.sum'];
  return new Map(await Promise.all(files.map(async (file) => [file, await sha256Of(file)] as const)));
}
