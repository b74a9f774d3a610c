/** helm as the tests of the chart use it: with nothing of the user's own. */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { findHelm, whyNoHelm } from '../../hack/helm/program.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';

export const chart = 'charts/atwatch';

/** For the option `skip` of a test: false, or why there is no helm. */
export const skip = whyNoHelm() ?? false;

/** What the chart renders may be of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look at single fields of objects of many kinds.
export type Rendered = KubernetesObject & Record<string, any>;

export interface Rendering {
  /** As in values.yaml, only what differs. */
  readonly values?: object;
  readonly release?: string;
  readonly namespace?: string;
}

export interface HelmOptions {
  readonly input?: string;
  /** The cluster; none unless it is given. */
  readonly kubeconfig?: string | undefined;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** Runs helm and resolves with its output; rejects with what it said on failure. */
export async function helm(
  args: readonly string[],
  { input = '', kubeconfig = '/dev/null', timeout = 60_000 }: HelmOptions = {},
): Promise<string> {
  const program = await findHelm();
  const home = join(tmpdir(), 'atwatch-no-helm-home');
  const homes = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  return await new Promise((resolve, reject) => {
    const env = { ...process.env, ...homes, KUBECONFIG: kubeconfig };
    const child = execFile(program, args, { env, timeout, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message, { cause: error }));
      else resolve(stdout.trimEnd());
    });
    // One that refuses its arguments reads nothing.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** What `helm install` would create. */
export async function render({ values = {}, release = 'atwatch', namespace = 'atwatch-system' }: Rendering) {
  const args = ['template', release, chart, `--namespace=${namespace}`, '--values=-'];
  return objectsIn(await helm(args, { input: JSON.stringify(values) }));
}

/** The objects of a stream of YAML documents. */
export function objectsIn(text: string): Rendered[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
}

/** The one object of a kind whose name ends so. */
export function find(objects: readonly Rendered[], kind: string, ending = ''): Rendered {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name.endsWith(ending));
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(`${found.length} objects of kind ${kind} and name ...${ending}`);
  }
  return found[0];
}
