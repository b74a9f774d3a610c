/**
 * Runs the integration tests on other versions of Kubernetes, each built from its Go modules, and records what was seen.
 *
 *   node hack/versions.ts VERSION...    as 1.35.4; TESTS in the environment names other files than all
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alternatives, components, linkerFlags } from '../local-cluster/build.ts';
import { programDirectory } from '../local-cluster/cache.ts';
import { buildGoProgram } from '../local-cluster/go-program.ts';
import { moduleOf } from './versions/module.ts';
import { notBuilt, type VersionResult, withResult } from './versions/results.ts';

const file = 'docs/versions/results.json';
const allTests = 'test/integration/**/*.test.ts';

async function build(version: string): Promise<string> {
  const moduleDirectory = moduleOf(version);
  return await buildGoProgram({
    title: `Kubernetes ${version}`,
    ...{ moduleDirectory, alternatives, packages: ['./...'], linkerFlags: linkerFlags(`v${version}`) },
    directory: programDirectory(process.env, moduleDirectory),
    finish: (directory) => {
      for (const name of components) symlinkSync('kube', join(directory, name));
    },
  });
}

/** The counts of the summary that Node.js writes at the end. */
function test(programs: string, tests: string): NonNullable<VersionResult['tests']> {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-versions-'));
  const report = join(directory, 'report.tap');
  try {
    const reporters = ['spec', 'tap'].map((reporter) => `--test-reporter=${reporter}`);
    const destinations = ['stdout', report].map((to) => `--test-reporter-destination=${to}`);
    const limits = ['--test-timeout=300000', '--test-concurrency=3'];
    const command = [process.execPath, '--test', ...limits, ...reporters, ...destinations, tests];
    const env = { ...process.env, KUBEBUILDER_ASSETS: programs };
    spawnSync(process.execPath, ['local-cluster/main.ts', 'run', '--', ...command], {
      env,
      stdio: 'inherit',
    });
    const text = readFileSync(report, 'utf8');
    const count = (name: string) =>
      Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    const failed = count('fail') + count('cancelled');
    return { passed: count('pass'), failed, skipped: count('skipped') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function resultOf(version: string, revision: string): Promise<VersionResult> {
  const programs = await build(version).catch((error: Error & { stderr?: string }) => error);
  if (typeof programs !== 'string') {
    return { version, note: notBuilt(programs.stderr || programs.message), revision };
  }
  const tests = test(programs, process.env.TESTS || allTests);
  if (Number.isNaN(tests.passed)) throw new Error(`the tests on Kubernetes ${version} came to no end`);
  return { version, tests, revision };
}

const revision = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
for (const version of process.argv.slice(2)) {
  const result = await resultOf(version, revision);
  console.log(JSON.stringify(result));
  // A part of the tests is a trial, and nothing to tell users.
  if (process.env.TESTS) continue;
  mkdirSync('docs/versions', { recursive: true });
  const known: VersionResult[] = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, `${JSON.stringify(withResult(known, result), undefined, 2)}\n`);
}
