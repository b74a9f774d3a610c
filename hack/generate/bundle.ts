/**
 * The bundle for the Operator Lifecycle Manager: its ClusterServiceVersion says in one file what config/ says in many,
 * so it follows from config/, crds/ and package.json. What OLM makes by itself (the namespace, the ServiceAccount, the
 * bindings) is left out, and so are the admission policies, which OLM does not install.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Crd } from '../../src/scaffold/crd.ts';
import { descriptors } from './bundle-descriptors.ts';

/** By OLM's convention, what comes before `stable`. */
const channel = 'candidate';
const generated = (from: string) =>
  `# Generated from ${from} by hack/generate.ts (make generate). Do not edit.\n`;

const text = (path: string) => readFile(path, 'utf8');
const yaml = async (path: string) => parse(await text(path));
const beside = (name: string) => join(import.meta.dirname, name);
const print = (value: object) =>
  stringify(value, { lineWidth: 110, blockQuote: 'literal', aliasDuplicateObjects: false });

/** Path and text of every file of the bundle. `crds`: those that the operator brings. */
export async function bundleFiles(crds: readonly Crd[]): Promise<[string, string][]> {
  const { author, version, description } = JSON.parse(await text('package.json'));
  const roles = await Promise.all(['admin', 'edit', 'view'].map(aggregatedRole));
  return [
    [
      'bundle/manifests/atwatch.clusterserviceversion.yaml',
      generated('config/, crds/ and package.json') +
        print(await clusterServiceVersion(crds, { author, version, description })),
    ],
    ...crds.map((crd): [string, string] => [
      `bundle/manifests/${crd.group}_${crd.plural}.yaml`,
      generated(crd.path) + crd.text,
    ]),
    ...roles,
    [
      'bundle/metadata/annotations.yaml',
      generated('hack/generate/bundle.ts') + print({ annotations: bundleAnnotations }),
    ],
    ['bundle/bundle.Dockerfile', dockerfile()],
  ];
}

/** Part of Kubernetes' own roles, so that people may use both kinds. */
async function aggregatedRole(name: string): Promise<[string, string]> {
  const source = `config/rbac/${name}_role.yaml`;
  const role = await yaml(source);
  const metadata = { ...role.metadata, name: `atwatch-${role.metadata.name}` };
  return [
    `bundle/manifests/atwatch-${name}.clusterrole.yaml`,
    generated(source) + print({ ...role, metadata }),
  ];
}

const bundleAnnotations = {
  'operators.operatorframework.io.bundle.mediatype.v1': 'registry+v1',
  'operators.operatorframework.io.bundle.manifests.v1': 'manifests/',
  'operators.operatorframework.io.bundle.metadata.v1': 'metadata/',
  'operators.operatorframework.io.bundle.package.v1': 'atwatch',
  'operators.operatorframework.io.bundle.channels.v1': channel,
  'operators.operatorframework.io.bundle.channel.default.v1': channel,
};

function dockerfile(): string {
  const labels = Object.entries(bundleAnnotations).map(([name, value]) => `LABEL ${name}=${value}`);
  return [
    `${generated('hack/generate/bundle.ts')}#`,
    '#   make bundle IMG=registry.example/atwatch:0.1.0',
    '#   docker build --file dist/bundle/bundle.Dockerfile --tag registry.example/atwatch-bundle:0.1.0 dist/bundle',
    'FROM scratch',
    ...labels,
    'COPY manifests /manifests/',
    'COPY metadata /metadata/',
    '',
  ].join('\n');
}

async function clusterServiceVersion(
  crds: readonly Crd[],
  { author, version, description }: Readonly<Record<'author' | 'version' | 'description', string>>,
): Promise<object> {
  const image = `registry.example/atwatch:${version}`;
  const { kubeVersion } = await yaml('charts/atwatch/Chart.yaml');
  const samples = ['cnat_v1alpha1_at', 'k8spatterns_v1_configwatcher'].map((name) =>
    yaml(`config/samples/${name}.yaml`),
  );
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: {
      name: `atwatch.v${version}`,
      namespace: 'placeholder',
      annotations: {
        'alm-examples': JSON.stringify(await Promise.all(samples), null, 2),
        capabilities: 'Deep Insights',
        categories: 'Application Runtime',
        containerImage: image,
        description,
        'operators.operatorframework.io/suggested-namespace': 'atwatch-system',
      },
    },
    spec: {
      displayName: 'atwatch',
      description: (await text(beside('bundle-description.md'))).trim(),
      version,
      minKubeVersion: /\d+\.\d+\.\d+/.exec(kubeVersion)?.[0],
      maturity: 'alpha',
      keywords: ['cronjob', 'schedule', 'configmap', 'reload', 'restart'],
      // No maintainers: an entry wants an address for mail, and there is none.
      provider: { name: author },
      icon: [
        {
          base64data: (await readFile(beside('icon.svg'))).toString('base64'),
          mediatype: 'image/svg+xml',
        },
      ],
      // The operator watches what WATCH_NAMESPACE names: none is all, several are separated by commas.
      installModes: ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces'].map((type) => ({
        type,
        supported: true,
      })),
      customresourcedefinitions: { owned: crds.map(ownedCrd) },
      relatedImages: [{ name: 'atwatch', image }],
      install: { strategy: 'deployment', spec: await installStrategy(image) },
    },
  };
}

/** The core kinds that each of ours works with, for the console. */
const resources: Readonly<Record<string, readonly string[]>> = {
  At: ['Pod'],
  ConfigWatcher: ['ConfigMap', 'Pod'],
};

function ownedCrd({ plural, group, kind, version }: Crd): object {
  const { description = '', properties: { spec, status } = {} } = version.schema.openAPIV3Schema;
  return {
    name: `${plural}.${group}`,
    version: version.name,
    kind,
    displayName: kind,
    description,
    resources: (resources[kind] ?? []).map((name) => ({ kind: name, name: '', version: 'v1' })),
    specDescriptors: descriptors('spec', spec?.properties),
    statusDescriptors: descriptors('status', status?.properties),
  };
}

/**
 * OLM binds `permissions` in the namespaces of the OperatorGroup, and in the whole cluster where that names none:
 * the choice between config/default and config/namespaced.
 */
async function installStrategy(image: string): Promise<object> {
  const manager = await yaml('config/manager/manager.yaml');
  const [role, leaderElection] = await Promise.all(
    ['permissions/role', 'leader_election_role'].map((name) => yaml(`config/rbac/${name}.yaml`)),
  );
  const common = { 'app.kubernetes.io/name': 'atwatch' };
  const name = `atwatch-${manager.metadata.name}`;
  const { selector, template, ...spec } = manager.spec;
  const labels = { ...common, ...template.metadata.labels };
  const [container] = template.spec.containers;
  const env = container.env.map((variable: { readonly name: string }) =>
    variable.name === 'WATCH_NAMESPACE'
      ? {
          name: variable.name,
          valueFrom: { fieldRef: { fieldPath: "metadata.annotations['olm.targetNamespaces']" } },
        }
      : variable,
  );
  return {
    permissions: [{ serviceAccountName: name, rules: [...role.rules, ...leaderElection.rules] }],
    deployments: [
      {
        name,
        label: common,
        spec: {
          ...spec,
          selector: { matchLabels: { ...common, ...selector.matchLabels } },
          template: {
            metadata: { ...template.metadata, labels },
            spec: { ...template.spec, serviceAccountName: name, containers: [{ ...container, image, env }] },
          },
        },
      },
    ],
  };
}
