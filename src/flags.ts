/** Flags: their names, environment variables, defaults, and what is right for them. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Flag {
  readonly name: string;
  readonly env: readonly string[];
  readonly boolean: boolean;
  readonly default: string;
  readonly placeholder: string;
  readonly description: string;
  /** The texts that are right. */
  readonly pattern: RegExp;
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

const dnsLabel = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

export const flags: readonly Flag[] = [
  {
    ...bindAddress,
    name: 'metrics-bind-address',
    env: ['ATWATCH_METRICS_BIND_ADDRESS'],
    default: '127.0.0.1:8080',
    description: 'serve Prometheus metrics here; 0 switches them off',
  },
  {
    name: 'secure-metrics',
    env: ['ATWATCH_SECURE_METRICS'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'serve metrics by HTTPS, to users of the cluster who may get the URL /metrics',
    ...trueOrFalse,
  },
  {
    name: 'metrics-cert-path',
    env: ['ATWATCH_METRICS_CERT_PATH'],
    boolean: false,
    default: '',
    placeholder: 'FOLDER',
    description: 'with --secure-metrics, the folder of tls.crt and tls.key; empty makes a certificate',
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
    name: 'leader-elect',
    env: ['ATWATCH_LEADER_ELECT'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'act only while holding the Lease "atwatch" in POD_NAMESPACE',
    ...trueOrFalse,
  },
  {
    name: 'namespaces',
    env: ['ATWATCH_NAMESPACES', 'WATCH_NAMESPACE'],
    boolean: false,
    default: '',
    placeholder: 'NAME,NAME',
    description: 'watch these namespaces only; empty means all',
    pattern: new RegExp(`^(${dnsLabel}(,${dnsLabel})*)?$`),
    expected: 'namespace names separated by commas',
  },
  {
    name: 'secret-access',
    env: ['ATWATCH_SECRET_ACCESS'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'let ConfigWatchers watch Secrets; needs rights on secrets',
    ...trueOrFalse,
  },
  {
    name: 'annotation-controller',
    env: ['ATWATCH_ANNOTATION_CONTROLLER'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'also serve ConfigMaps with k8spatterns.io/podDeleteSelector; needs patch on configmaps',
    ...trueOrFalse,
  },
  {
    name: 'author-check',
    env: ['ATWATCH_AUTHOR_CHECK'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: 'run an At only if its author may still create Pods; needs config/author-check',
    ...trueOrFalse,
  },
  {
    name: 'policy-self-test',
    env: ['ATWATCH_POLICY_SELF_TEST'],
    boolean: true,
    default: 'false',
    placeholder: '',
    description: "test each hour that the admission policy on the operator's Pods is in force",
    ...trueOrFalse,
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
