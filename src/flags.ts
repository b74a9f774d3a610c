/** Flags: their names, environment variables, defaults, and what is right for them. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Flag {
  readonly name: string;
  readonly env: readonly string[];
  readonly boolean: boolean;
  readonly default: string;
  /** What the empty default means, for `--help`. Default: all. */
  readonly unset?: string;
  readonly placeholder: string;
  readonly description: string;
  /** The texts that are right. */
  readonly pattern: Pick<RegExp, 'test'>;
  /** What a right value looks like, for the error. */
  readonly expected: string;
}

const bindAddress = {
  pattern: /^(0|(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]*):[0-9]{1,5})$/,
  expected: 'HOST:PORT, :PORT for every interface, or 0 to switch it off',
  placeholder: 'HOST:PORT',
  boolean: false,
};

const trueOrFalse = { pattern: /^(true|false)$/, expected: 'true or false' };

function variableOf(name: string): string {
  return `ATWATCH_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** A flag with a text, and nothing as its default. */
function words(name: string, placeholder: string, unset: string) {
  return { name, env: [variableOf(name)], boolean: false, default: '', unset, placeholder };
}

/** A flag that is off unless it is given. */
function toggle(name: string) {
  return { name, env: [variableOf(name)], boolean: true, default: 'false', placeholder: '', ...trueOrFalse };
}

/** Of a flag with a whole number of seconds, or nothing. */
function seconds(least: number, most: number) {
  const isWithin = (text: string) =>
    text === '' || (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most);
  return { pattern: { test: isWithin }, expected: `whole seconds from ${least} to ${most}` };
}

const dnsLabel = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

const namespaceNames = {
  pattern: new RegExp(`^(${dnsLabel}(,${dnsLabel})*)?$`),
  expected: 'namespace names separated by commas',
};

export const flags: readonly Flag[] = [
  {
    ...bindAddress,
    name: 'metrics-bind-address',
    env: ['ATWATCH_METRICS_BIND_ADDRESS'],
    default: '127.0.0.1:8080',
    description: 'serve Prometheus metrics here; 0 switches them off',
  },
  {
    ...toggle('secure-metrics'),
    description: 'serve metrics by HTTPS, to users of the cluster who may get the URL /metrics',
  },
  {
    name: 'metrics-cert-path',
    env: ['ATWATCH_METRICS_CERT_PATH'],
    boolean: false,
    default: '',
    unset: 'a certificate of its own',
    placeholder: 'FOLDER',
    description: 'with --secure-metrics, the folder of tls.crt and tls.key',
    pattern: /^(\/.*)?$/,
    expected: 'an absolute path',
  },
  {
    ...bindAddress,
    name: 'health-probe-bind-address',
    env: ['ATWATCH_HEALTH_PROBE_BIND_ADDRESS'],
    default: '127.0.0.1:8081',
    description: 'serve /healthz and /readyz here; 0 switches them off',
  },
  {
    ...toggle('profiling'),
    description: 'serve CPU profiles and heap snapshots, which hold Secrets, to this machine alone',
  },
  {
    name: 'profiling-bind-address',
    env: ['ATWATCH_PROFILING_BIND_ADDRESS'],
    boolean: false,
    default: '127.0.0.1:6060',
    placeholder: 'HOST:PORT',
    description: 'with --profiling, where; no other machine may reach it',
    pattern: /^(127(\.\d{1,3}){3}|\[::1\]):\d{1,5}$/,
    expected: '127.0.0.1:PORT or [::1]:PORT',
  },
  {
    ...toggle('leader-elect'),
    description: 'act only while holding the Lease "atwatch" in POD_NAMESPACE',
  },
  {
    name: 'namespaces',
    env: ['ATWATCH_NAMESPACES', 'WATCH_NAMESPACE'],
    boolean: false,
    default: '',
    placeholder: 'NAME,NAME',
    description: 'watch these namespaces only; empty means all',
    ...namespaceNames,
  },
  {
    ...toggle('secret-access'),
    description: 'let ConfigWatchers watch Secrets; needs rights on Secrets',
  },
  {
    ...toggle('annotation-controller'),
    description: 'also serve ConfigMaps with k8spatterns.io/podDeleteSelector; needs patch on ConfigMaps',
  },
  {
    ...toggle('annotated-workloads'),
    description:
      'make ConfigWatchers for workloads with k8spatterns.io/restart-on-change; needs rights for it',
  },
  {
    ...toggle('reloader-annotations'),
    description: 'the same, and for workloads with annotations of Stakater Reloader; needs rights for it',
  },
  {
    ...toggle('auto-reload-all'),
    description: 'with --reloader-annotations: every workload that does not say auto: "false"',
  },
  {
    ...toggle('author-check'),
    description: 'run an At only if its author may still create Pods; needs config/author-check',
  },
  {
    ...words('at-default-image', 'IMAGE', 'busybox'),
    description: 'image of Ats whose spec and template name none',
    pattern: /^[^\s\p{Cc}]{0,1024}$/u,
    expected: 'the name of an image',
  },
  {
    ...words('at-default-ttl-seconds-after-finished', 'SECONDS', 'never'),
    description: 'delete finished Ats after this time that set no ttlSecondsAfterFinished',
    ...seconds(0, 2_147_483_647),
  },
  {
    ...words('at-default-starting-deadline-seconds', 'SECONDS', 'no limit'),
    description: 'Ats that set no startingDeadlineSeconds are not run later than this',
    ...seconds(1, 1_000_000_000),
  },
  {
    name: 'at-output-in-status',
    env: ['ATWATCH_AT_OUTPUT_IN_STATUS'],
    boolean: true,
    default: 'true',
    placeholder: '',
    description: 'tell the end of the output of failed commands in status, unless an At says otherwise',
    ...trueOrFalse,
  },
  {
    name: 'failover-launch-delay',
    env: ['ATWATCH_FAILOVER_LAUNCH_DELAY'],
    boolean: false,
    default: '1s',
    placeholder: 'DURATION',
    description: 'with leader election: standbys launch what no replica has launched for this time; 0: never',
    pattern: /^(0|[1-9]\d{0,5}(ms|s))$/,
    expected: 'a duration such as 1s or 500ms, or 0 to switch it off',
  },
  {
    ...toggle('policy-self-test'),
    description: "test each hour that the admission policy on the operator's Pods is in force",
  },
  {
    name: 'log-level',
    env: ['ATWATCH_LOG_LEVEL'],
    boolean: false,
    default: 'info',
    placeholder: 'LEVEL',
    description: `one of ${logLevels.join(', ')}`,
    pattern: new RegExp(`^(${logLevels.join('|')})$`),
    expected: `one of ${logLevels.join(', ')}`,
  },
];

/** Those of the command release-pods. No variable counts: in the operator's own Pod they mean something else. */
export const releasePodsFlags: readonly Flag[] = [
  {
    name: 'namespaces',
    env: [],
    boolean: false,
    default: '',
    placeholder: 'NAME,NAME',
    description: 'free the Pods of these namespaces only; empty means all',
    ...namespaceNames,
  },
  {
    name: 'dry-run',
    env: [],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'say what would be done, and do nothing',
    ...trueOrFalse,
  },
  {
    name: 'force',
    env: [],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'also while an operator holds the Lease "atwatch", or where that cannot be seen',
    ...trueOrFalse,
  },
];
