/**
 * config/default as an API server takes it: on a control plane of its own, because it has a fixed namespace
 * that a cluster in use may hold already.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { overlays } from '../manifests/overlays.ts';
import { documentedRights, listedRights } from './documented-rights.ts';
import { noMutatingPolicies } from './mutating-policies.ts';
import { applyOverlay, inOverlay, type Overlay } from './overlay.ts';
import { eventually } from './support.ts';

let controlPlane: ControlPlane;
const kubectl = (...args: string[]) => controlPlane.kubectl(args);

/** @throws when the API server would refuse it, or knows one of its fields not. */
const dryRun = (list: object) =>
  controlPlane.kubectl(
    [
      ...['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'],
      '--filename=-',
    ],
    JSON.stringify(list),
  );

/** Answers yes or no; kubectl fails with the no. */
const may = (user: string, ...request: string[]) =>
  kubectl('auth', 'can-i', ...request, `--as=${user}`).then(
    () => true,
    () => false,
  );
const operator = 'system:serviceaccount:atwatch-system:atwatch-controller-manager';

const withSecondGroup: Overlay = { resources: ['default'], components: ['k8spatterns-com'] };

before(async () => {
  controlPlane = await startControlPlane({ scheduler: false });
  // As in dist/install.yaml: one apply of one file, for a cluster that has none of it.
  const installer = await kubectl('kustomize', 'config/default');
  await controlPlane.kubectl(['apply', '--server-side', '--filename=-'], installer);
});
after(() => controlPlane?.stop());

describe('config/default', () => {
  it('makes a Pod that the strictest Pod Security lets in, with the names the book uses', async () => {
    const select = ['--namespace=atwatch-system', '--selector=role=operator'];
    const pods = await eventually(
      async () => {
        const items: Pod[] = JSON.parse(await kubectl('get', 'pods', ...select, '--output=json')).items;
        return items.length > 0 && items;
      },
      { timeout: 30_000, message: 'the Deployment has a Pod' },
    );
    const [container] = pods[0]?.spec.containers ?? [];
    assert.equal(container?.name, 'config-watcher');
    assert.equal(container?.image, 'atwatch:latest');
    assert.deepEqual(container?.env?.[0]?.name, 'WATCH_NAMESPACE');
    const namespace = JSON.parse(await kubectl('get', 'namespace', 'atwatch-system', '--output=json'));
    assert.equal(namespace.metadata.labels['pod-security.kubernetes.io/enforce'], 'restricted');
  });

  it('has standbys and a PodDisruptionBudget in config/high-availability', async () => {
    const rendered = await kubectl('kustomize', 'config/high-availability');
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    const budget = objects.find(({ kind }) => kind === 'PodDisruptionBudget');
    assert.equal(deployment.spec.replicas, 2);
    assert.deepEqual(budget.spec.selector.matchLabels, deployment.spec.selector.matchLabels);
    assert.equal(budget.metadata.namespace, deployment.metadata.namespace);
    const terms = deployment.spec.template.spec.affinity.podAntiAffinity;
    for (const { podAffinityTerm } of terms.preferredDuringSchedulingIgnoredDuringExecution) {
      assert.deepEqual(podAffinityTerm.labelSelector.matchLabels, deployment.spec.selector.matchLabels);
    }
  });

  describe('is taken with no field unknown or wrong', () => {
    before(async () => {
      // What is only tried does not make the namespace that the rest of it goes into.
      await kubectl('create', 'namespace', 'team-a');
    });
    for (const [name, overlay] of Object.entries(overlays)) {
      it(`as the overlay ${name}`, async () => {
        const rendered = await inOverlay(overlay, (directory) => kubectl('kustomize', directory));
        const ours = parseAllDocuments(rendered)
          .map((document) => document.toJS())
          // No CRDs of the Prometheus operator here: its own types judge these (test/manifests/alerts.test.ts).
          .filter(({ apiVersion }) => apiVersion !== 'monitoring.coreos.com/v1')
          .filter(({ kind }) => !(noMutatingPolicies && kind.startsWith('MutatingAdmissionPolicy')));
        await dryRun({ apiVersion: 'v1', kind: 'List', items: ours });
      });
    }
  });

  it('is much the same Deployment with the same rights in the bundle for OLM', async () => {
    const file = 'bundle/manifests/atwatch.clusterserviceversion.yaml';
    const { permissions, deployments } = parse(await readFile(file, 'utf8')).spec.install.spec;
    const [{ name, spec }] = deployments;
    const [{ rules }] = permissions;
    const metadata = { name, namespace: 'atwatch-system' };
    const items = [
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
    ];
    await dryRun({ apiVersion: 'v1', kind: 'List', items });
  });

  it('has a NetworkPolicy that lets the kubelet in and no other client', async () => {
    const get = ['get', 'networkpolicies', '--namespace=atwatch-system', '--output=json'];
    const [policy] = JSON.parse(await kubectl(...get)).items;
    assert.deepEqual(policy.spec.podSelector.matchLabels, {
      'app.kubernetes.io/name': 'atwatch',
      role: 'operator',
    });
    assert.deepEqual(policy.spec.ingress, [{ ports: [{ port: 'health', protocol: 'TCP' }] }]);
  });

  const allowed = [
    ['create', 'pods', '--namespace=default'],
    ['watch', 'ats.cnat.programming-kubernetes.info', '--all-namespaces'],
    ['patch', 'ats.cnat.programming-kubernetes.info', '--subresource=status', '--namespace=default'],
    ['create', 'pods', '--subresource=eviction', '--namespace=default'],
    ['update', 'leases.coordination.k8s.io/atwatch', '--namespace=atwatch-system'],
  ];
  for (const request of allowed) {
    it(`grants ${request.join(' ')}`, async () => {
      assert.equal(await may(operator, ...request), true);
    });
  }

  const denied = [
    ['get', 'secrets', '--namespace=default'],
    ['update', 'leases.coordination.k8s.io/atwatch', '--namespace=default'],
    ['update', 'leases.coordination.k8s.io/other', '--namespace=atwatch-system'],
    ['create', 'ats.cnat.programming-kubernetes.info', '--namespace=default'],
    ['patch', 'ats.cnat.programming-kubernetes.info', '--namespace=default'],
    ['patch', 'configmaps', '--namespace=default'],
    ['list', 'deployments.apps', '--namespace=default'],
    ['create', 'configwatchers.k8spatterns.io', '--namespace=default'],
    ['delete', 'configwatchers.k8spatterns.io', '--namespace=default'],
    ['create', 'pods', '--subresource=exec', '--namespace=default'],
    ['list', 'nodes'],
    ['impersonate', 'users'],
  ];
  for (const request of denied) {
    it(`does not grant ${request.join(' ')}`, async () => {
      assert.equal(await may(operator, ...request), false);
    });
  }

  it('grants what docs/security.md says, and kubectl auth can-i --list shows no more', async () => {
    const listed = async (user: string, namespace: string) =>
      listedRights(
        await kubectl('auth', 'can-i', '--list', '--no-headers', `--as=${user}`, `--namespace=${namespace}`),
      );
    // Every authenticated user may ask who it is and what it may do.
    const everybody = await listed('system:serviceaccount:default:nobody', 'default');
    const documented = await documentedRights({ always: true });
    assert.deepEqual(await listed(operator, 'default'), [...documented, ...everybody].sort());
    const leases = 'coordination.k8s.io/leases';
    const election = [`create ${leases}`, `get ${leases} atwatch`, `update ${leases} atwatch`];
    const own = [...documented, ...everybody, ...election].sort();
    assert.deepEqual(await listed(operator, 'atwatch-system'), own);
  });

  describe("joins Kubernetes' own roles", () => {
    const roles = ['admin', 'edit', 'view'];
    const ours = [
      'ats.cnat.programming-kubernetes.info',
      'configwatchers.k8spatterns.io',
      'configwatchers.k8spatterns.com',
    ];
    before(async () => {
      await applyOverlay(controlPlane, withSecondGroup);
      for (const role of roles) {
        const name = `our-${role}`;
        await kubectl('create', 'rolebinding', name, `--clusterrole=${role}`, `--user=${role}`);
      }
    });
    // The roles are put together a moment after the parts have come.
    const rights = (role: string, verb: string, resource: string, ...more: string[]) =>
      may(role, verb, resource, '--namespace=default', ...more);
    for (const role of roles) {
      for (const resource of ours) {
        it(`lets who has ${role} read ${resource}, and never write their status`, async () => {
          const patience = { timeout: 60_000, message: 'aggregation' };
          await eventually(() => rights(role, 'list', resource), patience);
          // Each part comes by itself.
          if (role !== 'view') await eventually(() => rights(role, 'create', resource), patience);
          else assert.equal(await rights(role, 'create', resource), false);
          assert.equal(await rights(role, 'update', resource, '--subresource=status'), false);
          assert.equal(await rights(role, 'patch', resource, '--subresource=status'), false);
        });
      }
    }
  });

  it('goes without a trace', async () => {
    await inOverlay(withSecondGroup, (directory) =>
      kubectl('delete', '--ignore-not-found', `--kustomize=${directory}`, '--wait=false'),
    );
    const kinds = [
      ...['namespaces', 'clusterroles', 'clusterrolebindings', 'customresourcedefinitions'],
      ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
    ].join(',');
    const all = ['get', kinds, '--output=json', '--selector=app.kubernetes.io/name=atwatch'];
    const { items }: { items: KubernetesObject[] } = JSON.parse(await kubectl(...all));
    // What is on its way is as good as gone: how long the API server takes to clear out a namespace or the
    // storage of a CRD is its own affair, and on a busy machine minutes.
    const left = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    assert.deepEqual(
      left.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [],
    );
  });
});
