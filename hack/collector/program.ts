/** The OpenTelemetry collector: built from its Go modules, once, into the cache folder. */
import { join } from 'node:path';
import { programDirectory } from '../../local-cluster/cache.ts';
import { buildGoProgram, requiredVersion } from '../../local-cluster/go-program.ts';

const moduleDirectory = import.meta.dirname;

/**
 * The path of the collector: the one that was built, else a new build.
 *
 * @throws {ClusterError} without Go, and when the build fails
 */
export async function buildCollector(): Promise<string> {
  const version = requiredVersion(moduleDirectory, 'go.opentelemetry.io/collector/otelcol');
  const directory = await buildGoProgram({
    title: `the OpenTelemetry collector ${version}`,
    ...{ moduleDirectory, packages: ['.'], linkerFlags: '-s -w' },
    alternatives:
      'the OpenTelemetry collector is built from source: install Go 1.26 or later (https://go.dev/doc/install).',
    directory: programDirectory(process.env, moduleDirectory, 'collector'),
  });
  return join(directory, 'collector');
}
