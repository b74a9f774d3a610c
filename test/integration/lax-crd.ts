/** A CRD of ConfigWatchers that lets any spec in, and specs that cannot be followed. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { configWatchers } from '../../src/api/resources.ts';
import { customResourceDefinitions } from '../fixtures/cluster-resources.ts';
import type { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const podSelector = { app: 'webapp' };
const configMap = 'webapp-config';
const base = { configMap, podSelector };

interface Mistake {
  /** undefined: there is none. */
  readonly spec: unknown;
  /** How the words begin that status has for it. */
  readonly told: string;
}

/** What cannot be followed. */
export const mistakes: readonly Mistake[] = [
  { spec: undefined, told: 'spec is missing' },
  { spec: {}, told: 'spec.podSelector is required' },
  { spec: { podSelector }, told: 'spec nothing to watch: set configMap or sources' },
  { spec: { ...base, configMap: 7 }, told: 'spec.configMap must be string' },
  { spec: { ...base, configMap: 'Not_A_Name' }, told: 'spec.configMap must be the name of a ConfigMap' },
  { spec: { ...base, keys: ['a/b'] }, told: 'spec.keys[0] must be a key of a ConfigMap' },
  { spec: { ...base, podSelector: {} }, told: 'spec.podSelector must not have fewer than 1 properties' },
  { spec: { ...base, podSelector: 'all' }, told: 'spec.podSelector must be object' },
  { spec: { ...base, podSelector: { 'a b': 'x' } }, told: 'spec.podSelector has a key that is no label key' },
  { spec: { ...base, podSelector: { app: 'a b' } }, told: 'spec.podSelector has a value that is no label' },
  { spec: { ...base, debounce: { quiet: 'soon' } }, told: 'spec.debounce.quiet must be a duration' },
  { spec: { ...base, cooldown: { base: '1h' } }, told: 'spec.cooldown.base must not be longer than max' },
  { spec: { ...base, strategy: { type: 'Explode' } }, told: 'spec.strategy.type must be one of Auto, ' },
  {
    spec: { ...base, strategy: { maxUnavailable: 'half' } },
    told: 'spec.strategy.maxUnavailable must be a ',
  },
  { spec: { ...base, strategy: { maxOwners: 51 } }, told: 'spec.strategy.maxOwners must be <= 50' },
  {
    spec: { ...base, windows: [{ schedule: 'noon', duration: '1m' }] },
    told: 'spec.windows[0].schedule must ',
  },
  { spec: { ...base, sources: 'none' }, told: 'spec.sources must be array' },
  { spec: { ...base, onDelete: 'Explode' }, told: 'spec.onDelete must be one of Ignore, Restart' },
];

/** Lets any spec in, and adds nothing to it. */
export async function loosenCrd({ client, namespace }: Shop): Promise<void> {
  const crd = parse(await readFile('crds/configwatchers.yaml', 'utf8'));
  const schema = crd.spec.versions[0].schema.openAPIV3Schema;
  delete schema['x-kubernetes-validations'];
  delete schema.required;
  schema.properties.spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const patch = { type: 'apply', body: crd, fieldManager: 'atwatch-test', force: true } as const;
  await client.patch(customResourceDefinitions, { name: crd.metadata.name }, patch);
  const probe = { metadata: { namespace, name: 'probe' }, spec: { configMap: 7 } as never };
  await eventually(() => client.create(configWatchers, probe, { dryRun: true }), {
    message: 'the API server takes any spec',
  });
}
