/** Specs of ConfigWatcher with the verdict each must get; see at-rows.ts. */
import type { Row } from './at-rows.ts';

export const baseConfigWatcherSpec = { configMap: 'webapp-config', podSelector: { app: 'webapp' } };

const notADuration = 'must be a duration such as';

const selection: readonly Row[] = [
  { it: 'takes a prefixed label key', spec: { podSelector: { 'app.kubernetes.io/name': 'web', tier: '' } } },
  {
    it: 'takes expressions',
    spec: {
      podSelectorExpressions: [
        { key: 'tier', operator: 'In', values: ['web', ''] },
        { key: 'canary', operator: 'DoesNotExist' },
      ],
    },
  },
  {
    it: 'refuses an empty selector',
    spec: { podSelector: {} },
    refused: { field: 'spec.podSelector', says: 'at least 1 properties' },
  },
  {
    it: 'refuses an absent selector',
    spec: { podSelector: undefined },
    refused: { field: 'spec.podSelector', says: 'Required value' },
  },
  ...['', 'a b', '/name', 'Prefix/name', 'prefix/', '-x', `x${'y'.repeat(63)}`, 'a/b/c'].map((key) => ({
    it: `refuses the label key ${JSON.stringify(key)}`,
    spec: { podSelector: { [key]: 'x' } },
    refused: { field: 'spec.podSelector', says: 'has a key that is no label key' },
  })),
  {
    it: 'refuses an illegal label value',
    spec: { podSelector: { app: 'web app' } },
    refused: { field: 'spec.podSelector', says: 'has a value that is no label value' },
  },
  {
    it: 'refuses a label value of 64 characters',
    spec: { podSelector: { app: 'x'.repeat(64) } },
    refused: { field: 'spec.podSelector.app', says: 'Too long' },
  },
  {
    it: 'refuses In without values',
    spec: { podSelectorExpressions: [{ key: 'tier', operator: 'In' }] },
    refused: { field: 'spec.podSelectorExpressions[0].values', says: 'must not be empty' },
  },
  {
    it: 'refuses Exists with values',
    spec: { podSelectorExpressions: [{ key: 'tier', operator: 'Exists', values: ['web'] }] },
    refused: { field: 'spec.podSelectorExpressions[0].values', says: 'must be empty' },
  },
  {
    it: 'refuses an illegal key in an expression',
    spec: { podSelectorExpressions: [{ key: 'a b', operator: 'Exists' }] },
    refused: { field: 'spec.podSelectorExpressions[0].key', says: 'must be a label key' },
  },
  {
    it: 'refuses an illegal value in an expression',
    spec: { podSelectorExpressions: [{ key: 'tier', operator: 'NotIn', values: ['web', 'a,b'] }] },
    refused: { field: 'spec.podSelectorExpressions[0].values[1]', says: 'must be a label value' },
  },
];

const sources: readonly Row[] = [
  { it: 'takes sources alone', spec: { configMap: undefined, sources: [{ kind: 'Secret', name: 'tls' }] } },
  {
    it: 'takes configMap and sources',
    spec: { sources: [{ kind: 'ConfigMap', name: 'more', keys: ['a'] }] },
  },
  { it: 'takes a Secret of the same name', spec: { sources: [{ kind: 'Secret', name: 'webapp-config' }] } },
  { it: 'takes keys', spec: { keys: ['message', 'web.xml', '..data'] } },
  {
    it: 'refuses nothing to watch',
    spec: { configMap: undefined },
    refused: { field: 'spec', says: 'nothing to watch: set configMap or sources' },
  },
  {
    it: 'refuses empty sources alone',
    spec: { configMap: undefined, sources: [] },
    refused: { field: 'spec', says: 'nothing to watch' },
  },
  ...['Webapp', 'web_app', 'web..app', '-web', 'web.'].map((configMap) => ({
    it: `refuses the name ${configMap}`,
    spec: { configMap },
    refused: { field: 'spec.configMap', says: 'must be the name of a ConfigMap' },
  })),
  {
    it: 'refuses a name of 254 characters',
    spec: { configMap: 'x'.repeat(254) },
    refused: { field: 'spec.configMap', says: 'Too long' },
  },
  {
    it: 'refuses the ConfigMap a second time',
    spec: { sources: [{ kind: 'ConfigMap', name: 'webapp-config' }] },
    refused: { field: 'spec.sources', says: 'must not name the ConfigMap that configMap names already' },
  },
  {
    it: 'refuses one source twice',
    spec: { sources: ['a', 'b', 'a'].map((name) => ({ kind: 'ConfigMap', name })) },
    refused: { field: 'spec.sources', says: 'Duplicate value' },
  },
  {
    it: 'refuses 33 sources',
    spec: { sources: Array.from({ length: 32 }, (_, i) => ({ kind: 'ConfigMap', name: `source-${i}` })) },
    refused: { field: 'spec.sources', says: 'at most 32 items' },
  },
  {
    it: 'refuses another kind of source',
    spec: { sources: [{ kind: 'Pod', name: 'a' }] },
    refused: { field: 'spec.sources[0].kind', says: 'supported values: "ConfigMap", "Secret"' },
  },
  {
    it: 'refuses an optional that is no boolean',
    spec: { sources: [{ kind: 'Secret', name: 'tls', optional: 'yes' }] },
    refused: { field: 'spec.sources[0].optional', says: 'must be of type boolean' },
  },
  {
    it: 'refuses an illegal key',
    spec: { keys: ['a/b'] },
    refused: { field: 'spec.keys[0]', says: 'must be a key of a ConfigMap' },
  },
  {
    it: 'refuses a key twice',
    spec: { keys: ['a', 'a'] },
    refused: { field: 'spec.keys', says: 'Duplicate value' },
  },
  {
    it: 'refuses keys without configMap',
    spec: { configMap: undefined, sources: [{ kind: 'Secret', name: 'tls' }], keys: ['a'] },
    refused: { field: 'spec.keys', says: 'belongs to configMap' },
  },
];

const strategies: readonly Row[] = [
  ...[1, 100, '1%', '25%', '100%'].map((maxUnavailable) => ({
    it: `takes maxUnavailable: ${maxUnavailable}`,
    spec: { strategy: { maxUnavailable } },
  })),
  ...[0, -1, '0%', '101%', '5', '1.5%', '%', 'all'].map((maxUnavailable) => ({
    it: `refuses maxUnavailable: ${JSON.stringify(maxUnavailable)}`,
    spec: { strategy: { maxUnavailable } },
    refused: { field: 'spec.strategy.maxUnavailable', says: 'must be a number from 1 or a percentage' },
  })),
  {
    it: 'refuses an unknown strategy',
    spec: { strategy: { type: 'Explode' } },
    refused: {
      field: 'spec.strategy.type',
      says: 'supported values: "Auto", "Evict", "Delete", "RolloutRestart"',
    },
  },
  ...[
    { field: 'maxOwners', value: 0, says: 'greater than or equal to 1' },
    { field: 'maxOwners', value: 51, says: 'less than or equal to 50' },
    { field: 'minReadySeconds', value: -1, says: 'greater than or equal to 0' },
    { field: 'unmanagedPods', value: 'Explode', says: 'supported values: "Skip", "Delete"' },
    { field: 'jobPods', value: 'Explode', says: 'supported values: "Skip", "Delete"' },
    { field: 'canary', value: 'yes', says: 'must be of type boolean' },
  ].map(({ field, value, says }) => ({
    it: `refuses ${field}: ${value}`,
    spec: { strategy: { [field]: value } },
    refused: { field: `spec.strategy.${field}`, says },
  })),
  {
    it: 'refuses no time for progress',
    spec: { strategy: { progressDeadlineSeconds: 0 } },
    refused: { field: 'spec.strategy.progressDeadlineSeconds', says: 'greater than or equal to 1' },
  },
  {
    it: 'refuses an unknown onDelete',
    spec: { onDelete: 'Explode' },
    refused: { field: 'spec.onDelete', says: 'supported values: "Ignore", "Restart"' },
  },
];

const times: readonly Row[] = [
  ...['0', '0s', '500ms', '1m30s', '1.5h', '1h2m3s', '250us'].map((quiet) => ({
    it: `takes the duration ${quiet}`,
    spec: { debounce: { quiet, max: '2h' } },
  })),
  ...['', '5', 's', '-1s', '1 s', '1d', 'two seconds', '1,5s', '.5s', '1234567s'].map((quiet) => ({
    it: `refuses the duration ${JSON.stringify(quiet)}`,
    spec: { debounce: { quiet } },
    refused: { field: 'spec.debounce.quiet', says: notADuration },
  })),
  {
    it: 'refuses a quiet time above the maximum',
    spec: { debounce: { quiet: '31s' } },
    refused: { field: 'spec.debounce.quiet', says: 'must not be longer than max' },
  },
  { it: 'takes a quiet time of the maximum', spec: { debounce: { quiet: '30000ms' } } },
  {
    it: 'refuses a base above the maximum',
    spec: { cooldown: { base: '10m1ms' } },
    refused: { field: 'spec.cooldown.base', says: 'must not be longer than max' },
  },
  {
    it: 'refuses a bad maximum without a second complaint',
    spec: { cooldown: { max: 'never' } },
    refused: { field: 'spec.cooldown.max', says: notADuration },
  },
];

const windows: readonly Row[] = [
  ...[
    '* * * * *',
    '0 3 * * MON-FRI',
    '*/15 0-6,22-23 1,15 jan-Mar,12 7',
    '00 09 01 01 sun',
    '5  4 * * *',
  ].map((schedule) => ({
    it: `takes the cron ${schedule}`,
    spec: { windows: [{ schedule, duration: '1h' }] },
  })),
  ...[
    { schedule: '', says: 'must have the five fields' },
    { schedule: '@daily', says: 'must have the five fields' },
    { schedule: '* * * *', says: 'must have the five fields' },
    { schedule: '0 * * * * *', says: 'must have the five fields' },
    { schedule: '60 * * * *', says: 'has a bad minute' },
    { schedule: '*/0 * * * *', says: 'has a bad minute' },
    { schedule: '1- * * * *', says: 'has a bad minute' },
    { schedule: '0 24 * * *', says: 'has a bad hour' },
    { schedule: '0 0 32 * *', says: 'has a bad day of month' },
    { schedule: '0 0 0 * *', says: 'has a bad day of month' },
    { schedule: '0 0 * 13 *', says: 'has a bad month' },
    { schedule: '0 0 * foo *', says: 'has a bad month' },
    { schedule: '0 0 * * 8', says: 'has a bad day of week' },
    { schedule: '0 0 * * monday', says: 'has a bad day of week' },
  ].map(({ schedule, says }) => ({
    it: `refuses the cron ${JSON.stringify(schedule)}`,
    spec: { windows: [{ schedule, duration: '1h' }] },
    refused: { field: 'spec.windows[0].schedule', says },
  })),
  {
    it: 'refuses a window of no length',
    spec: { windows: [{ schedule: '0 3 * * *', duration: '0s' }] },
    refused: { field: 'spec.windows[0].duration', says: 'must be longer than zero' },
  },
  {
    it: 'takes a window in a time zone',
    spec: { windows: [{ schedule: '0 3 * * *', duration: '1h', timeZone: 'Europe/Berlin' }] },
  },
  {
    it: 'refuses a window in a time zone without a name',
    spec: { windows: [{ schedule: '0 3 * * *', duration: '1h', timeZone: '' }] },
    refused: { field: 'spec.windows[0].timeZone', says: 'at least 1 chars long' },
  },
  {
    it: 'refuses a window without a duration',
    spec: { windows: [{ schedule: '0 3 * * *' }] },
    refused: { field: 'spec.windows[0].duration', says: 'Required value' },
  },
];

const switches: readonly Row[] = ['onlyReferencing', 'suspend', 'dryRun'].map((field) => ({
  it: `refuses ${field}: yes`,
  spec: { [field]: 'yes' },
  refused: { field: `spec.${field}`, says: 'must be of type boolean' },
}));

export const configWatcherRows: readonly Row[] = [
  ...selection,
  ...sources,
  ...strategies,
  ...times,
  ...windows,
  ...switches,
];
