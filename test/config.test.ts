import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, parseCommandLine } from '../src/config.ts';
import { usage } from '../src/usage.ts';

const defaults = {
  metricsBindAddress: '127.0.0.1:8080',
  secureMetrics: false,
  metricsCertPath: '',
  healthProbeBindAddress: '127.0.0.1:8081',
  profilingBindAddress: '0',
  leaderElect: false,
  namespaces: [],
  logLevel: 'info',
  podNamespace: undefined,
  secretAccess: false,
  annotationController: false,
  annotatedWorkloads: false,
  reloaderAnnotations: false,
  autoReloadAll: false,
  authorCheck: false,
  atDefaults: { outputInStatus: true },
  failoverLaunchDelay: 1000,
  policySelfTest: false,
};

describe('parseCommandLine', () => {
  const accepted: {
    says: string;
    args?: string[];
    env?: Record<string, string>;
    config?: Partial<Record<keyof typeof defaults, unknown>>;
  }[] = [
    { says: 'has a default for everything' },
    { says: 'takes --flag=value', args: ['--log-level=debug'], config: { logLevel: 'debug' } },
    { says: 'profiles', args: ['--profiling'], config: { profilingBindAddress: '127.0.0.1:6060' } },
    {
      says: 'profiles elsewhere on this machine',
      args: ['--profiling', '--profiling-bind-address=[::1]:1'],
      config: { profilingBindAddress: '[::1]:1' },
    },
    { says: 'does not profile unasked', args: ['--profiling-bind-address=127.0.0.1:1'] },
    { says: 'takes --flag value', args: ['--log-level', 'warn'], config: { logLevel: 'warn' } },
    { says: 'takes a single dash, as Go does', args: ['-log-level=warn'], config: { logLevel: 'warn' } },
    { says: 'takes a bare switch', args: ['--leader-elect'], config: { leaderElect: true } },
    { says: 'takes a switch with a value', args: ['--leader-elect=false'], config: { leaderElect: false } },
    { says: 'asks for the rights of authors', args: ['--author-check'], config: { authorCheck: true } },
    {
      says: 'takes the addresses of its servers',
      args: ['--health-probe-bind-address=:1', '--metrics-bind-address=0'],
      config: { healthProbeBindAddress: ':1', metricsBindAddress: '0' },
    },
    {
      says: 'serves metrics by HTTPS',
      args: ['--secure-metrics', '--metrics-cert-path=/certs'],
      config: { secureMetrics: true, metricsCertPath: '/certs' },
    },
    { says: 'tests its policy', args: ['--policy-self-test'], config: { policySelfTest: true } },
    { says: 'lets Secrets in', args: ['--secret-access'], config: { secretAccess: true } },
    {
      says: 'serves annotated ConfigMaps',
      env: { ATWATCH_ANNOTATION_CONTROLLER: 'true' },
      config: { annotationController: true },
    },
    {
      says: 'takes defaults for Ats',
      args: [
        '--at-default-image=registry.example/tools:1',
        '--at-default-ttl-seconds-after-finished=0',
        '--at-default-starting-deadline-seconds=3600',
      ],
      env: { ATWATCH_AT_OUTPUT_IN_STATUS: 'false' },
      config: {
        atDefaults: {
          image: 'registry.example/tools:1',
          ttlSecondsAfterFinished: 0,
          startingDeadlineSeconds: 3600,
          outputInStatus: false,
        },
      },
    },
    {
      says: 'takes a delay in milliseconds',
      args: ['--failover-launch-delay=500ms'],
      config: { failoverLaunchDelay: 500 },
    },
    {
      says: 'takes 0 for never',
      env: { ATWATCH_FAILOVER_LAUNCH_DELAY: '0' },
      config: { failoverLaunchDelay: 0 },
    },
    {
      says: 'makes ConfigWatchers for annotated workloads',
      env: { ATWATCH_ANNOTATED_WORKLOADS: 'true' },
      config: { annotatedWorkloads: true },
    },
    {
      says: "does the same for Reloader's annotations",
      args: ['--reloader-annotations'],
      env: { ATWATCH_AUTO_RELOAD_ALL: 'true' },
      config: { annotatedWorkloads: true, reloaderAnnotations: true, autoReloadAll: true },
    },
    {
      says: 'serves them by a flag, too',
      args: ['--annotation-controller'],
      config: { annotationController: true },
    },
    {
      says: 'does not eat the flag behind a bare switch',
      args: ['--leader-elect', '--log-level=error'],
      config: { leaderElect: true, logLevel: 'error' },
    },
    {
      says: 'takes the last of two',
      args: ['--log-level=warn', '--log-level=error'],
      config: { logLevel: 'error' },
    },
    { says: 'reads the environment', env: { ATWATCH_LOG_LEVEL: 'debug' }, config: { logLevel: 'debug' } },
    { says: 'takes an empty variable for an unset one', env: { ATWATCH_LOG_LEVEL: '' } },
    {
      says: 'prefers a flag to its variable',
      args: ['--log-level=warn'],
      env: { ATWATCH_LOG_LEVEL: 'debug' },
      config: { logLevel: 'warn' },
    },
    { says: 'honours WATCH_NAMESPACE', env: { WATCH_NAMESPACE: 'a,b' }, config: { namespaces: ['a', 'b'] } },
    { says: 'names a namespace once', args: ['--namespaces=a,b,a'], config: { namespaces: ['a', 'b'] } },
    {
      says: 'knows its own namespace from POD_NAMESPACE',
      env: { POD_NAMESPACE: 'atwatch-system' },
      config: { podNamespace: 'atwatch-system' },
    },
    {
      says: 'switches a server off with 0',
      args: ['--metrics-bind-address=0'],
      config: { metricsBindAddress: '0' },
    },
    {
      says: 'binds every interface',
      args: ['--metrics-bind-address=:9090'],
      config: { metricsBindAddress: ':9090' },
    },
    {
      says: 'binds IPv6',
      args: ['--metrics-bind-address=[::1]:9090'],
      config: { metricsBindAddress: '[::1]:9090' },
    },
  ];
  for (const { says, args = [], env = {}, config = {} } of accepted) {
    it(says, () => {
      assert.deepEqual(parseCommandLine(args, env), { command: 'run', config: { ...defaults, ...config } });
    });
  }

  const refused: { args?: string[]; env?: Record<string, string>; message: RegExp }[] = [
    {
      args: ['--profiling-bind-address=0.0.0.0:6060'],
      message: /expected 127\.0\.0\.1:PORT or \[::1\]:PORT/,
    },
    { args: ['--profiling-bind-address=:6060'], message: /expected 127\.0\.0\.1:PORT/ },
    { args: ['--log-level=loud'], message: /--log-level: "loud" is not valid; expected one of debug, info/ },
    { env: { ATWATCH_LOG_LEVEL: 'loud' }, message: /^ATWATCH_LOG_LEVEL: "loud" is not valid/ },
    { args: ['--leader-elect=yes'], message: /--leader-elect: "yes" is not valid; expected true or false/ },
    { args: ['--auto-reload-all'], message: /^--auto-reload-all needs --reloader-annotations$/ },
    { args: ['--leader-election'], message: /unknown flag --leader-election: see --help/ },
    { args: ['run'], message: /unexpected argument "run"/ },
    { args: ['--log-level'], message: /--log-level needs a value: one of debug/ },
    { args: ['--metrics-bind-address=8080'], message: /expected HOST:PORT/ },
    {
      args: ['--at-default-starting-deadline-seconds=0'],
      message: /expected whole seconds from 1 to 1000000000/,
    },
    {
      args: ['--at-default-ttl-seconds-after-finished=1.5'],
      message: /expected whole seconds from 0 to 2147483647/,
    },
    { args: ['--failover-launch-delay=1'], message: /expected a duration such as 1s or 500ms/ },
    { args: ['--at-default-image=a b'], message: /"a b" is not valid; expected the name of an image/ },
    { args: ['--namespaces=Team_A'], message: /expected namespace names separated by commas/ },
    { env: { WATCH_NAMESPACE: 'a, b' }, message: /^WATCH_NAMESPACE: "a, b" is not valid/ },
  ];
  for (const { args = [], env = {}, message } of refused) {
    it(`refuses ${[...args, ...Object.entries(env).map((pair) => pair.join('='))].join(' ')}`, () => {
      assert.throws(
        () => parseCommandLine(args, env),
        (error) => error instanceof ConfigError && message.test(error.message),
      );
    });
  }

  it('answers --help and --version whatever else is wrong', () => {
    assert.deepEqual(parseCommandLine(['--nonsense', '--help'], {}), { command: 'help', text: usage() });
    assert.deepEqual(parseCommandLine(['--version'], { ATWATCH_LOG_LEVEL: 'loud' }), { command: 'version' });
  });

  it('gives a config that cannot change', () => {
    const line = parseCommandLine([], {});
    assert.ok(
      line.command === 'run' && Object.isFrozen(line.config) && Object.isFrozen(line.config.namespaces),
    );
  });
});

describe('release-pods', () => {
  it('has flags of its own, and no variable counts', () => {
    assert.deepEqual(parseCommandLine(['release-pods'], { WATCH_NAMESPACE: 'a' }), {
      command: 'release-pods',
      config: { namespaces: [], dryRun: false, force: false },
    });
    assert.deepEqual(parseCommandLine(['release-pods', '--namespaces=a,b', '--dry-run', '--force'], {}), {
      command: 'release-pods',
      config: { namespaces: ['a', 'b'], dryRun: true, force: true },
    });
    assert.throws(
      () => parseCommandLine(['release-pods', '--leader-elect'], {}),
      /unknown flag --leader-elect/,
    );
    assert.throws(() => parseCommandLine(['release-pods', 'shop'], {}), /unexpected argument "shop"/);
  });

  it('has a help of its own', () => {
    const line = parseCommandLine(['release-pods', '--help'], {});
    assert.ok(line.command === 'help' && /--dry-run/.test(line.text) && !/--leader-elect/.test(line.text));
    assert.ok(line.text.split('\n').every((one) => one.length <= 105));
  });
});

describe('usage', () => {
  it('names every flag once, with its variable and default', () => {
    for (const flag of [
      'metrics-bind-address',
      'health-probe-bind-address',
      'leader-elect',
      'namespaces',
      'log-level',
      'at-default-image',
      'at-default-ttl-seconds-after-finished',
      'at-default-starting-deadline-seconds',
      'at-output-in-status',
      'failover-launch-delay',
    ]) {
      assert.equal(usage().split(`--${flag}`).length, 2, flag);
    }
    assert.match(usage(), /environment: ATWATCH_NAMESPACES, WATCH_NAMESPACE/);
  });

  it('fits a terminal of 100 columns', () => {
    assert.ok(
      usage()
        .split('\n')
        .every((line) => line.length <= 100),
      usage(),
    );
  });
});
