/** kubectl as the end-to-end tests use it: what a person would type, against the cluster of KUBECONFIG. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Runs kubectl and resolves with its output; rejects with what it said on failure. */
export function kubectl(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: 120_000, maxBuffer: 16 << 20 };
    const child = execFile('kubectl', args, options, (error, stdout, stderr) => {
      if (!error) resolve(stdout.trimEnd());
      else
        reject(new Error(`kubectl ${args.join(' ')}: ${stderr.trim() || error.message}`, { cause: error }));
    });
    // One that ends before it has read its input says why on standard error.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Installs the CRDs as the README says; resolves once they are served. */
export async function installCrds(): Promise<void> {
  const applied = await kubectl(['apply', '--server-side', '--kustomize=crds', '--output=name']);
  await kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...applied.split('\n')]);
}

/** kubectl bound to one namespace. */
export interface Namespace {
  readonly name: string;
  kubectl(...args: string[]): Promise<string>;
  /** Applies one object given as JSON. */
  apply(object: object): Promise<string>;
  getJson<T>(what: string): Promise<T>;
}

/**
 * Makes a namespace for one test and has it deleted at the test's end. Resolves once Pods can be created in
 * it, that is, once it has its ServiceAccount.
 */
export async function withNamespace(t: { after(end: () => Promise<unknown>): void }): Promise<Namespace> {
  const name = `e2e-${randomBytes(4).toString('hex')}`;
  await kubectl(['create', 'namespace', name]);
  t.after(() => kubectl(['delete', 'namespace', name, '--wait=false']));
  const run = (...args: string[]) => kubectl([`--namespace=${name}`, ...args]);
  await run('wait', '--for=create', 'serviceaccount/default', '--timeout=30s');
  return {
    name,
    kubectl: run,
    apply: (object) => kubectl([`--namespace=${name}`, 'apply', '--filename=-'], JSON.stringify(object)),
    getJson: async (what) => JSON.parse(await run('get', what, '--output=json')),
  };
}

/**
 * Writes kubectl's configuration with a namespace selected, as a user has it, into a file of the directory.
 *
 * @returns the path of the file.
 */
export async function configurationFor(directory: string, namespace: string): Promise<string> {
  const path = join(directory, namespace);
  await writeFile(path, await readFile(process.env.KUBECONFIG ?? ''), { mode: 0o600 });
  await kubectl([`--kubeconfig=${path}`, 'config', 'set-context', '--current', `--namespace=${namespace}`]);
  return path;
}

/** Polls until `check` gives a truthy value and resolves with it; rejects after `limit` ms. */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false>,
  limit = 60_000,
): Promise<T> {
  const deadline = performance.now() + limit;
  let last: unknown;
  do {
    try {
      const value = await check();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  } while (performance.now() < deadline);
  throw new Error(`waited ${limit / 1000} s for ${what}; last: ${last}`, { cause: last });
}
