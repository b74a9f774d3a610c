/**
 * Prometheus: built from its Go modules, once, into the cache folder.
 */
import { join } from 'node:path';
import { programDirectory } from '../../local-cluster/cache.ts';
import { buildGoProgram, requiredVersion } from '../../local-cluster/go-program.ts';

const moduleDirectory = import.meta.dirname;

/** As in v0.313.1, which is Prometheus 3.13.1. */
export const prometheusVersion = requiredVersion(moduleDirectory, 'github.com/prometheus/prometheus');

const alternatives =
  'Prometheus is built from source: install Go 1.26 or later (https://go.dev/doc/install).';

/**
 * The path of prometheus.
 *
 * @throws {ClusterError} without Go, and when the build fails
 */
export async function findPrometheus(): Promise<string> {
  const directory = await buildGoProgram({
    title: `Prometheus ${prometheusVersion}`,
    ...{ moduleDirectory, alternatives, packages: ['github.com/prometheus/prometheus/cmd/prometheus'] },
    // Else it could find targets in every cloud there is, which would be most of the build.
    tags: 'remove_all_sd',
    linkerFlags: '-s -w',
    directory: programDirectory(process.env, moduleDirectory, 'prometheus'),
  });
  return join(directory, 'prometheus');
}
