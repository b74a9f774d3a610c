/**
 * Writes src/kubernetes/types: the types of Kubernetes' own kinds with a Resource constant for each, one file for each
 * version of a group, from the discovery and OpenAPI documents of the local cluster's API server. It is run for a new
 * version of Kubernetes (make generate-kubernetes-types); `make generate` does without, because it needs a cluster.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { startControlPlane } from '../local-cluster/control-plane.ts';
import { readGroupVersions } from './kubernetes-types/api-documents.ts';
import { printFiles } from './kubernetes-types/print-types.ts';

const folder = 'src/kubernetes/types';

const plane = await startControlPlane({ controllerManager: false, scheduler: false });
try {
  const read = async (path: string) => JSON.parse(await plane.kubectl(['get', '--raw', path]));
  const files = printFiles(await readGroupVersions(read));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, text] of files) await writeFile(`${folder}/${name}.generated.ts`, text);
  console.log(`wrote ${files.size} files into ${folder}`);
} finally {
  await plane.stop();
}
