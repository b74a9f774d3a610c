/** The Go module of local-cluster/, for another version of Kubernetes. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubernetesVersion } from '../../local-cluster/build.ts';
import { cacheDirectory, moduleDirectory } from '../../local-cluster/cache.ts';
import { findGo } from '../../local-cluster/go-program.ts';

const goFiles = (path: string) => !/\.(ts|mjs|md|sh)$/.test(path);

/**
 * The folder of the module; that of local-cluster/ itself for its own version.
 *
 * @throws {Error} with what go said, when the modules of that version are not to be had
 */
export function moduleOf(version: string): string {
  if (`v${version}` === kubernetesVersion()) return moduleDirectory;
  const go = findGo();
  if (go === undefined) throw new Error('Go is not installed');
  const directory = join(cacheDirectory(), 'versions', version);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  cpSync(moduleDirectory, directory, { recursive: true, filter: goFiles });
  rmSync(join(directory, 'go.sum'));
  const program = join(directory, 'main.go');
  writeFileSync(program, programOf(version, readFileSync(program, 'utf8')));
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOWORK: 'off' };
  const run = (...args: string[]) =>
    execFileSync(go, args, { cwd: directory, env, encoding: 'utf8', stdio: 'pipe' });
  writeFileSync(join(directory, 'go.mod'), 'module atwatch.local/kube\n');
  const { GoMod: path } = JSON.parse(run('mod', 'download', '-json', `k8s.io/kubernetes@v${version}`));
  const ours = readFileSync(join(moduleDirectory, 'go.mod'), 'utf8');
  writeFileSync(join(directory, 'go.mod'), goModOf(version, readFileSync(path, 'utf8'), ours));
  run('mod', 'tidy');
  return directory;
}

/** Pure. Before 1.34 the kubelet's command is made without a context. */
export function programOf(version: string, program: string): string {
  if (Number(version.split('.')[1]) >= 34) return program;
  return program
    .replace('kubelet.NewKubeletCommand(context.Background())', 'kubelet.NewKubeletCommand()')
    .replace('\t"context"\n', '');
}

/**
 * Pure. Kubernetes keeps its staging modules in its own repository; outside of it they are published as v0.MINOR.PATCH.
 *
 * @param kubernetes go.mod of that version, which says what its staging modules are, and what goes with them.
 * @param ours go.mod of local-cluster/, which says what else is needed.
 */
export function goModOf(version: string, kubernetes: string, ours: string): string {
  const staging = [...kubernetes.matchAll(/^\s+(k8s\.io\/\S+) => \.\/staging\//gm)].map(([, name]) => name);
  const published = version.replace(/^1/, 'v0');
  const of = (text: string, module: string) => new RegExp(`^\\s+${module} (v\\S+)`, 'm').exec(text)?.[1];
  const others = ['github.com/spf13/cobra', 'go.etcd.io/etcd/server/v3'].flatMap((module) => {
    // etcd is tested by Kubernetes in the version of its client.
    const found = of(kubernetes, module) ?? of(kubernetes, 'go.etcd.io/etcd/client/v3') ?? of(ours, module);
    return [`require ${module} ${found}`];
  });
  return [
    'module atwatch.local/kube',
    ...['go 1.26.0', 'godebug default=go1.26', `require k8s.io/kubernetes v${version}`],
    ...others,
    ...staging.map((name) => `replace ${name} => ${name} ${published}`),
    '',
  ].join('\n');
}
