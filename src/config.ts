/**
 * Config: everything that can be set from outside, from flags and environment variables to one frozen
 * value. Pure.
 *
 * A flag wins over its environment variable, which wins over the default.
 */
import { type Flag, flags, type LogLevel, logLevels, releasePodsFlags } from './flags.ts';
import { releasePodsUsage, usage } from './usage.ts';

export interface Config {
  /** Where /metrics is served, `host:port`; `0` switches it off. */
  readonly metricsBindAddress: string;
  /** Whether metrics are served by HTTPS, and only to who may read them. */
  readonly secureMetrics: boolean;
  /** A folder with tls.crt and tls.key for that; empty: a certificate is made. */
  readonly metricsCertPath: string;
  /** Where /healthz and /readyz are served, `host:port`; `0` switches it off. */
  readonly healthProbeBindAddress: string;
  /** Where profiles of this process are served, on the loopback address; `0` switches it off. */
  readonly profilingBindAddress: string;
  readonly leaderElect: boolean;
  /** Namespaces to watch; empty means all. */
  readonly namespaces: readonly string[];
  readonly logLevel: LogLevel;
  /** Whether ConfigWatchers may name Secrets; needs the rights for it. */
  readonly secretAccess: boolean;
  /** Whether ConfigMaps that name their Pods in an annotation are served, too; needs a right for it. */
  readonly annotationController: boolean;
  /** Whether workloads that ask for restarts by an annotation get ConfigWatchers; needs rights for it. */
  readonly annotatedWorkloads: boolean;
  /** Whether Reloader's annotations count as well. */
  readonly reloaderAnnotations: boolean;
  /** Whether every workload asks as if it had Reloader's `auto: "true"`. */
  readonly autoReloadAll: boolean;
  /** Whether the author of an At must still have the right to create Pods when it runs. */
  readonly authorCheck: boolean;
  /** For what Ats leave open. */
  readonly atDefaults: AtDefaults;
  /** For how long no replica has launched a due At before a standby does, in milliseconds; 0: standbys launch nothing. */
  readonly failoverLaunchDelay: number;
  /** Whether to test that the admission policy on the operator's Pods is in force. */
  readonly policySelfTest: boolean;
  /** The operator's own namespace, where its Lease lives; undefined outside a cluster. */
  readonly podNamespace: string | undefined;
}

/** What applies where an At says nothing itself. Absent: what the API says. */
export interface AtDefaults {
  readonly image?: string;
  readonly ttlSecondsAfterFinished?: number;
  readonly startingDeadlineSeconds?: number;
  readonly outputInStatus: boolean;
}

/** Of the command release-pods. */
export interface ReleasePodsConfig {
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly dryRun: boolean;
  /** Also while an operator holds its Lease. */
  readonly force: boolean;
}

export type CommandLine =
  | { readonly command: 'run'; readonly config: Config }
  | { readonly command: 'release-pods'; readonly config: ReleasePodsConfig }
  | { readonly command: 'help'; readonly text: string }
  | { readonly command: 'version' };

/** The command line or an environment variable is wrong. The message is one sentence with the remedy. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the command line and the environment.
 *
 * @param args without the program's own name, Go style: `--flag=value`, `--flag value`, `--switch`.
 * @throws {ConfigError}
 */
export function parseCommandLine(args: readonly string[], env: Environment): CommandLine {
  const isRelease = args[0] === 'release-pods';
  if (args.some((word) => word === '--help' || word === '-h')) {
    return { command: 'help', text: isRelease ? releasePodsUsage() : usage() };
  }
  if (args.includes('--version')) return { command: 'version' };
  if (isRelease) {
    const text = readValues(args.slice(1), {}, releasePodsFlags);
    const [dryRun, force] = [text('dry-run') === 'true', text('force') === 'true'];
    return { command: 'release-pods', config: { namespaces: namesIn(text('namespaces')), dryRun, force } };
  }
  return { command: 'run', config: toConfig(readValues(args, env, flags), env) };
}

/** The value of each of these flags. */
function readValues(
  args: readonly string[],
  env: Environment,
  known: readonly Flag[],
): (name: string) => string {
  const given = readFlags(args, known);
  const values: Record<string, string> = {};
  const sources: Record<string, string> = {};
  for (const flag of known) {
    const variable = flag.env.find((name) => (env[name] ?? '') !== '');
    values[flag.name] = given.get(flag.name) ?? (variable && env[variable]) ?? flag.default;
    sources[flag.name] = given.has(flag.name) || !variable ? `--${flag.name}` : variable;
  }
  check(known, values, sources);
  return (name) => values[name] ?? '';
}

function namesIn(list: string): readonly string[] {
  return Object.freeze([...new Set(list.split(',').filter(Boolean))]);
}

function readFlags(args: readonly string[], known: readonly Flag[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let index = 0; index < args.length; index++) {
    const { flag, value } = splitFlag(args[index] ?? '', known);
    if (value !== undefined) given.set(flag.name, value);
    else if (flag.boolean) given.set(flag.name, 'true');
    else given.set(flag.name, nextWord(args, ++index, flag));
  }
  return given;
}

function splitFlag(word: string, known: readonly Flag[]): { flag: Flag; value: string | undefined } {
  const match = /^--?([^=]+)(?:=(.*))?$/s.exec(word);
  if (!match) throw new ConfigError(`unexpected argument "${word}": atwatch takes flags only, see --help`);
  const flag = known.find(({ name }) => name === match[1]);
  if (!flag) throw new ConfigError(`unknown flag --${match[1]}: see --help for the flags there are`);
  return { flag, value: match[2] };
}

function nextWord(args: readonly string[], index: number, flag: Flag): string {
  const value = args[index];
  if (value === undefined) {
    throw new ConfigError(`--${flag.name} needs a value: ${flag.expected}`);
  }
  return value;
}

function check(
  known: readonly Flag[],
  values: Record<string, string>,
  sources: Record<string, string>,
): void {
  for (const { name, pattern, expected } of known) {
    const value = values[name] ?? '';
    if (pattern.test(value)) continue;
    throw new ConfigError(`${sources[name]}: ${JSON.stringify(value)} is not valid; expected ${expected}`);
  }
  if (values['auto-reload-all'] === 'true' && values['reloader-annotations'] !== 'true') {
    throw new ConfigError(`${sources['auto-reload-all']} needs --reloader-annotations`);
  }
}

function toConfig(text: (name: string) => string, env: Environment): Config {
  const reloaderAnnotations = text('reloader-annotations') === 'true';
  const level = logLevels.find((name) => name === text('log-level')) ?? 'info';
  return Object.freeze({
    metricsBindAddress: text('metrics-bind-address'),
    secureMetrics: text('secure-metrics') === 'true',
    metricsCertPath: text('metrics-cert-path'),
    healthProbeBindAddress: text('health-probe-bind-address'),
    profilingBindAddress: text('profiling') === 'true' ? text('profiling-bind-address') : '0',
    leaderElect: text('leader-elect') === 'true',
    namespaces: namesIn(text('namespaces')),
    logLevel: level,
    secretAccess: text('secret-access') === 'true',
    annotationController: text('annotation-controller') === 'true',
    annotatedWorkloads: reloaderAnnotations || text('annotated-workloads') === 'true',
    reloaderAnnotations,
    autoReloadAll: text('auto-reload-all') === 'true',
    authorCheck: text('author-check') === 'true',
    atDefaults: atDefaults(text),
    failoverLaunchDelay: milliseconds(text('failover-launch-delay')),
    policySelfTest: text('policy-self-test') === 'true',
    podNamespace: env.POD_NAMESPACE || undefined,
  });
}

function atDefaults(text: (name: string) => string): AtDefaults {
  const image = text('at-default-image');
  const ttl = text('at-default-ttl-seconds-after-finished');
  const startingDeadline = text('at-default-starting-deadline-seconds');
  return Object.freeze({
    ...(image !== '' && { image }),
    ...(ttl !== '' && { ttlSecondsAfterFinished: Number(ttl) }),
    ...(startingDeadline !== '' && { startingDeadlineSeconds: Number(startingDeadline) }),
    outputInStatus: text('at-output-in-status') === 'true',
  });
}

/** Of `1s`, `500ms` or `0`. */
function milliseconds(duration: string): number {
  const count = Number.parseInt(duration, 10);
  return duration.endsWith('ms') ? count : count * 1000;
}
