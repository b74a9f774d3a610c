/** What is wrong with values is said before anything reaches a cluster, and so that one finds it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { describedValues } from '../../hack/generate/chart.ts';
import { render, skip } from './helm.ts';

const refused: readonly { readonly values: object; readonly says: RegExp }[] = [
  { values: { replica: 2 }, says: /additional properties 'replica' not allowed/ },
  { values: { image: { name: 'a' } }, says: /at '\/image': additional properties 'name' not allowed/ },
  { values: { crd: { keep: true } }, says: /additional properties 'crd' not allowed/ },
  {
    values: { image: { repository: 'atwatch:1.0' } },
    says: /at '\/image\/repository': 'atwatch:1\.0' does not match/,
  },
  { values: { image: { tag: 1.2 } }, says: /at '\/image\/tag': got number, want string/ },
  { values: { image: { digest: 'latest' } }, says: /at '\/image\/digest': 'latest' does not match/ },
  {
    values: { image: { pullPolicy: 'Sometimes' } },
    says: /at '\/image\/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'/,
  },
  { values: { imagePullSecrets: ['registry'] }, says: /at '\/imagePullSecrets\/0': got string, want object/ },
  { values: { replicas: -1 }, says: /at '\/replicas': minimum: got -1, want 0/ },
  { values: { replicas: '2' }, says: /at '\/replicas': got string, want integer/ },
  {
    values: { replicas: 2, leaderElection: { enabled: false } },
    says: /at '\/leaderElection\/enabled': value must be true/,
  },
  { values: { namespaces: 'default' }, says: /at '\/namespaces': got string, want array/ },
  { values: { namespaces: ['Team_A'] }, says: /at '\/namespaces\/0': 'Team_A' does not match pattern/ },
  { values: { namespaces: ['a', 'a'] }, says: /at '\/namespaces': items at 0 and 1 are equal/ },
  { values: { secretAccess: 'false' }, says: /at '\/secretAccess': got string, want boolean/ },
  {
    values: { autoReloadAll: true },
    says: /at '\/reloaderAnnotations': value must be true/,
  },
  {
    values: { logLevel: 'trace' },
    says: /at '\/logLevel': value must be one of 'debug', 'info', 'warn', 'error'/,
  },
  {
    values: { extraArgs: ['leader-elect'] },
    says: /at '\/extraArgs\/0': 'leader-elect' does not match pattern/,
  },
  { values: { extraEnv: [{ name: 'A' }] }, says: /at '\/extraEnv\/0': missing property 'value'/ },
  {
    values: { serviceAccount: { create: false } },
    says: /at '\/serviceAccount\/name': minLength: got 0, want 1/,
  },
  {
    values: { podDisruptionBudget: { maxUnavailable: 0 } },
    says: /at '\/podDisruptionBudget\/maxUnavailable': minimum/,
  },
  {
    values: { resources: { limits: { memory: '1 GB' } } },
    says: /at '\/resources\/limits\/memory': '1 GB' does not match/,
  },
  {
    values: { tolerations: [{ effect: 'Never' }] },
    says: /at '\/tolerations\/0\/effect': value must be one of/,
  },
  {
    values: { affinity: { podAfinity: {} } },
    says: /at '\/affinity': additional properties 'podAfinity' not allowed/,
  },
  {
    values: { topologySpreadConstraints: [{ maxSkew: 1 }] },
    says: /missing properties 'topologyKey', 'whenUnsatisfiable'/,
  },
  { values: { nodeSelector: { ssd: true } }, says: /at '\/nodeSelector\/ssd': got boolean, want string/ },
  {
    values: { podLabels: { role: 'other' } },
    says: /at '\/podLabels\/role': value must be 'operator'/,
  },
  { values: { runAsUser: 0 }, says: /at '\/runAsUser': minimum: got 0, want 1/ },
  { values: { serviceMonitor: { enabled: true } }, says: /at '\/metrics\/enabled': value must be true/ },
  {
    values: { serviceMonitor: { interval: 'often' } },
    says: /at '\/serviceMonitor\/interval': 'often' does not match/,
  },
  { values: { networkPolicy: { metricsFrom: [{}] } }, says: /at '\/networkPolicy\/metricsFrom\/0': minProp/ },
  // To Helm null means: without the preset. What the templates need must be there.
  { values: { image: null }, says: /at '': missing property 'image'/ },
  { values: { image: { repository: null } }, says: /at '\/image': missing property 'repository'/ },
  {
    values: { admissionPolicies: { allowedNamespaces: ['Kube_System'] } },
    says: /at '\/admissionPolicies\/allowedNamespaces\/0': 'Kube_System' does not match pattern/,
  },
  { values: { admissionPolicies: { enabled: null } }, says: /at '\/admissionPolicies': missing property/ },
  { values: { crds: { keep: null } }, says: /at '\/crds': missing property 'keep'/ },
  { values: { metrics: { port: 80 } }, says: /at '\/metrics\/port': minimum: got 80, want 1,024/ },
];

describe('the schema of the values', { skip }, () => {
  for (const { values, says } of refused) {
    it(`refuses ${JSON.stringify(values)}`, async () => {
      await assert.rejects(render({ values }), says);
    });
  }

  it('knows exactly the values that there are, and is closed', async () => {
    const values = describedValues(await readFile('charts/atwatch/values.yaml', 'utf8'));
    const schema = JSON.parse(await readFile('charts/atwatch/values.schema.json', 'utf8'));
    const known = new Set(values.map(({ path }) => path));
    assert.deepEqual(leaves(schema, schema, known).sort(), [...known].sort());
  });

  it('lets a chart that this one is a part of pass its own values', async () => {
    await render({ values: { global: { imageRegistry: 'registry.example' } } });
  });
});

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

/** Paths of all values that the schema knows, down to those that values.yaml describes. */
function leaves(
  root: Schema & { $defs?: Record<string, Schema> },
  schema: Schema,
  known: Set<string>,
  path = '',
): string[] {
  const name = schema.$ref?.replace('#/$defs/', '');
  const { properties, additionalProperties } = (name && root.$defs?.[name]) || schema;
  if (known.has(path) || properties === undefined) return [path];
  assert.equal(additionalProperties, false, `${path || 'the root'} is open`);
  return Object.entries(properties)
    .filter(([key]) => path !== '' || key !== 'global')
    .flatMap(([key, value]) => leaves(root, value, known, path ? `${path}.${key}` : key));
}
