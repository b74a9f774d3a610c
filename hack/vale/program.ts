/**
 * Vale, the linter of prose: built from its Go modules, once, into the cache folder. It is built without tree-sitter's
 * parsers of programming languages (`parsers/`), because they need a C compiler and most of the build's time.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programDirectory } from '../../local-cluster/cache.ts';
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { buildGoProgram, findGo, requiredVersion } from '../../local-cluster/go-program.ts';

const moduleDirectory = import.meta.dirname;

/** The configuration of this project. */
export const configuration = join(moduleDirectory, 'vale.ini');

/** As in v3.21.0. */
export const valeVersion = requiredVersion(moduleDirectory, 'github.com/vale-cli/vale/v3');

const alternatives = 'Vale is built from source: install Go 1.26 or later (https://go.dev/doc/install).';

/** A check of one document takes milliseconds; one that takes this long has a rule that hangs. */
const limit = 120_000;

/** What Vale finds wrong. */
export interface Alert {
  readonly path: string;
  readonly line: number;
  /** The name of the rule, such as `Atwatch.Words`. */
  readonly rule: string;
  readonly message: string;
  /** Whether it is only worth a thought. */
  readonly isHint: boolean;
}

/** Why there is no Vale and none can be built, as a sentence; undefined if there is or can be. */
export function whyNoVale(): string | undefined {
  return existsSync(directory()) || findGo() !== undefined
    ? undefined
    : `Go is not installed. ${alternatives}`;
}

/**
 * The path of vale: the one that was built, else a new build.
 *
 * @throws {ClusterError} without Go, and when the build fails
 */
export async function findVale(): Promise<string> {
  await buildGoProgram({
    title: `Vale ${valeVersion}`,
    ...{ moduleDirectory, alternatives, packages: ['github.com/vale-cli/vale/v3/cmd/vale'] },
    linkerFlags: '-s -w',
    directory: directory(),
  });
  return join(directory(), 'vale');
}

/**
 * What Vale finds wrong with these documents, hints included if asked for.
 *
 * @throws {ClusterError} when it cannot be built, or fails itself
 */
export async function checkProse(
  paths: readonly string[],
  { hints = false }: { readonly hints?: boolean } = {},
): Promise<readonly Alert[]> {
  const vale = await findVale();
  const output = await new Promise<string>((resolve, reject) => {
    const level = `--minAlertLevel=${hints ? 'suggestion' : 'warning'}`;
    const args = ['--config', configuration, '--no-global', '--output=JSON', level, ...paths];
    execFile(vale, args, { timeout: limit, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      // 1 stands for alerts; what else goes wrong has another code or a signal.
      if (error !== null && error.code !== 1)
        reject(new ClusterError(`vale failed: ${stderr || error.message}`));
      else resolve(stdout);
    });
  });
  const alerts: Record<string, readonly ValeAlert[]> = JSON.parse(output);
  return Object.entries(alerts).flatMap(([path, found]) =>
    found.map(({ Line: line, Check: rule, Message: message, Severity: severity }) => ({
      ...{ path, line, rule, message },
      isHint: severity === 'suggestion',
    })),
  );
}

/** As Vale prints it. */
interface ValeAlert {
  readonly Line: number;
  readonly Check: string;
  readonly Message: string;
  readonly Severity: string;
}

function directory(): string {
  return programDirectory(process.env, moduleDirectory, 'vale');
}
