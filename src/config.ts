/**
 * Config: everything that can be set from outside, from flags and environment variables to one frozen
 * value. Pure.
 *
 * A flag wins over its environment variable, which wins over the default.
 */
import { type Flag, flags, type LogLevel, logLevels } from './flags.ts';

export interface Config {
  /** Where /metrics is served, `host:port`; `0` switches it off. */
  readonly metricsBindAddress: string;
  /** Whether metrics are served by HTTPS, and only to who may read them. */
  readonly secureMetrics: boolean;
  /** A folder with tls.crt and tls.key for that; empty: a certificate is made. */
  readonly metricsCertPath: string;
  /** Where /healthz and /readyz are served, `host:port`; `0` switches it off. */
  readonly healthProbeBindAddress: string;
  readonly leaderElect: boolean;
  /** Namespaces to watch; empty means all. */
  readonly namespaces: readonly string[];
  readonly logLevel: LogLevel;
  /** Whether ConfigWatchers may name Secrets; needs the rights for it. */
  readonly secretAccess: boolean;
  /** Whether ConfigMaps that name their Pods in an annotation are served, too; needs a right for it. */
  readonly annotationController: boolean;
  /** Whether the author of an At must still have the right to create Pods when it runs. */
  readonly authorCheck: boolean;
  /** For what Ats leave open. */
  readonly atDefaults: AtDefaults;
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

export type CommandLine =
  | { readonly command: 'run'; readonly config: Config }
  | { readonly command: 'help' }
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
  if (args.some((word) => word === '--help' || word === '-h')) return { command: 'help' };
  if (args.includes('--version')) return { command: 'version' };
  const given = readFlags(args);
  const values: Record<string, string> = {};
  const sources: Record<string, string> = {};
  for (const flag of flags) {
    const variable = flag.env.find((name) => (env[name] ?? '') !== '');
    values[flag.name] = given.get(flag.name) ?? (variable && env[variable]) ?? flag.default;
    sources[flag.name] = given.has(flag.name) || !variable ? `--${flag.name}` : variable;
  }
  check(values, sources);
  return { command: 'run', config: toConfig(values, env) };
}

function readFlags(args: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let index = 0; index < args.length; index++) {
    const { flag, value } = splitFlag(args[index] ?? '');
    if (value !== undefined) given.set(flag.name, value);
    else if (flag.boolean) given.set(flag.name, 'true');
    else given.set(flag.name, nextWord(args, ++index, flag));
  }
  return given;
}

function splitFlag(word: string): { flag: Flag; value: string | undefined } {
  const match = /^--?([^=]+)(?:=(.*))?$/s.exec(word);
  if (!match) throw new ConfigError(`unexpected argument "${word}": atwatch takes flags only, see --help`);
  const flag = flags.find(({ name }) => name === match[1]);
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

function check(values: Record<string, string>, sources: Record<string, string>): void {
  for (const { name, pattern, expected } of flags) {
    const value = values[name] ?? '';
    if (pattern.test(value)) continue;
    throw new ConfigError(`${sources[name]}: ${JSON.stringify(value)} is not valid; expected ${expected}`);
  }
}

function toConfig(values: Record<string, string>, env: Environment): Config {
  const text = (name: string) => values[name] ?? '';
  const level = logLevels.find((name) => name === text('log-level')) ?? 'info';
  return Object.freeze({
    metricsBindAddress: text('metrics-bind-address'),
    secureMetrics: text('secure-metrics') === 'true',
    metricsCertPath: text('metrics-cert-path'),
    healthProbeBindAddress: text('health-probe-bind-address'),
    leaderElect: text('leader-elect') === 'true',
    namespaces: Object.freeze([...new Set(text('namespaces').split(',').filter(Boolean))]),
    logLevel: level,
    secretAccess: text('secret-access') === 'true',
    annotationController: text('annotation-controller') === 'true',
    authorCheck: text('author-check') === 'true',
    atDefaults: atDefaults(text),
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

/** The text of `--help`. */
export function usage(): string {
  const sections = flags.map(({ name, placeholder, description, default: preset, unset = 'all', env }) => [
    `  --${name}${placeholder && `=${placeholder}`}`,
    `      ${description}`,
    `      (default: ${preset === '' ? unset : preset}; environment: ${env.join(', ')})`,
  ]);
  return [
    'atwatch: a Kubernetes operator for At (run a command at a time) and ConfigWatcher (restart Pods when',
    'their configuration changes).',
    '',
    'Usage: atwatch [flags]',
    '',
    ...sections.flat(),
    '  --version',
    '      print the version and exit',
    '  --help',
    '      print this text and exit',
    '',
    "The cluster is found as kubectl finds it: KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount.",
    "POD_NAMESPACE names the operator's own namespace, where its Lease lives.",
    '',
  ].join('\n');
}
