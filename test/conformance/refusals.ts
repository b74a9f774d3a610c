/**
 * Conformance of refusals: quotas, Pod Security, namespaces that end, rights, time limits.
 */
import assert from 'node:assert/strict';
import {
  assertRefused,
  type ConformanceRow,
  eventually,
  newName,
  pathsOf,
  podBody,
  type Subject,
  succeeded,
} from './subject.ts';

/** A namespace of its own, ready for Pods. */
async function newNamespace({ api, namespace }: Subject, labels: object = {}): Promise<string> {
  const name = `${namespace}-${newName('ns')}`;
  succeeded(await api.send('POST', '/api/v1/namespaces', { body: { metadata: { name, labels } } }));
  // Where a ServiceAccount is demanded, a controller makes it.
  const { pods } = pathsOf(name);
  await eventually(async () => {
    const answer = await api.send('POST', `${pods}?dryRun=All`, { body: podBody('probe', safe) });
    return answer.code === 201;
  });
  return name;
}

const safe = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'main',
      image: 'busybox:1',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
};

function container(name: string, fields: object = {}): object {
  return { name, image: 'busybox:1', ...fields };
}

const restricted = (what: string) => ({
  escalation: `allowPrivilegeEscalation != false (${what} must set securityContext.allowPrivilegeEscalation=false)`,
  capabilities: `unrestricted capabilities (${what} must set securityContext.capabilities.drop=["ALL"])`,
  nonRoot: `runAsNonRoot != true (pod or ${what} must set securityContext.runAsNonRoot=true)`,
  seccomp: `seccompProfile (pod or ${what} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
});

const forbiddenWith = (message: string) => ({ code: 403, reason: 'Forbidden', message });

export const refusalRows: readonly ConformanceRow[] = [
  {
    title: 'a quota that is used up refuses, a dry run and what exists already as well',
    async run(subject) {
      const { api } = subject;
      const namespace = await newNamespace(subject);
      const { pods, quotas } = pathsOf(namespace);
      const quota = { metadata: { name: 'q' }, spec: { hard: { pods: '1' } } };
      succeeded(await api.send('POST', quotas, { body: quota }));
      // The quota counts once a controller has seen it.
      const dry = { body: podBody('dry') };
      await eventually(async () => (await api.send('POST', `${pods}?dryRun=All`, dry)).code === 201);
      await eventually(async () => (await api.send('POST', pods, { body: podBody('first') })).code === 201);
      const exceeded = 'is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1';
      for (const [name, query] of [
        ['second', ''],
        ['second', '?dryRun=All'],
        ['first', ''],
      ] as const) {
        const answer = await api.send('POST', `${pods}${query}`, { body: podBody(name) });
        assertRefused(answer, forbiddenWith(`pods "${name}" ${exceeded}`));
        assert.equal(answer.body.details.kind, 'pods');
      }
      succeeded(
        await api.send('PATCH', `${pods}/first/status`, { body: { status: { phase: 'Succeeded' } } }),
      );
      await eventually(async () => (await api.send('POST', pods, { body: podBody('third') })).code === 201);
    },
  },
  {
    title: 'a quota of resources demands that they are said, and adds them up',
    async run(subject) {
      const { api } = subject;
      const namespace = await newNamespace(subject);
      const { pods, quotas } = pathsOf(namespace);
      const quota = { metadata: { name: 'q' }, spec: { hard: { 'requests.cpu': '1' } } };
      succeeded(await api.send('POST', quotas, { body: quota }));
      const create = (name: string, cpu?: string) => {
        const resources = cpu === undefined ? {} : { requests: { cpu } };
        return api.send('POST', pods, {
          body: podBody(name, { containers: [container('c', { resources })] }),
        });
      };
      await eventually(async () => {
        const { body } = await create('silent');
        return (
          body.message === 'pods "silent" is forbidden: failed quota: q: must specify requests.cpu for: c'
        );
      });
      succeeded(await create('first', '500m'));
      assertRefused(
        await create('second', '600m'),
        forbiddenWith(
          'pods "second" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=500m, limited: requests.cpu=1',
        ),
      );
    },
  },
  {
    title: 'a namespace that enforces a Pod Security standard says all that violates it',
    async run(subject) {
      const { api } = subject;
      const namespace = await newNamespace(subject, { 'pod-security.kubernetes.io/enforce': 'restricted' });
      const { pods } = pathsOf(namespace);
      const refused = async (spec: object, violations: readonly string[]) =>
        assertRefused(
          await api.send('POST', pods, { body: podBody('p', spec) }),
          forbiddenWith(
            `pods "p" is forbidden: violates PodSecurity "restricted:latest": ${violations.join(', ')}`,
          ),
        );
      const one = restricted('container "main"');
      await refused({}, [one.escalation, one.capabilities, one.nonRoot, one.seccomp]);
      const two = restricted('containers "c", "d"');
      const containers = [container('c', { securityContext: { privileged: true } }), container('d')];
      await refused({ hostNetwork: true, containers }, [
        'host namespaces (hostNetwork=true)',
        'privileged (container "c" must not set securityContext.privileged=true)',
        two.escalation,
        two.capabilities,
        two.nonRoot,
        two.seccomp,
      ]);
      await refused({ ...safe, volumes: [{ name: 'v', hostPath: { path: '/' } }] }, [
        'restricted volume types (volume "v" uses restricted volume type "hostPath")',
      ]);
      await refused(
        { ...safe, securityContext: { ...safe.securityContext, runAsUser: 0, runAsNonRoot: false } },
        [
          'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
          'runAsUser=0 (pod must not set runAsUser=0)',
        ],
      );
      succeeded(await api.send('POST', pods, { body: podBody('p', safe) }));
    },
  },
  {
    title: 'nothing new goes into a namespace that is not there or ends',
    async run(subject) {
      const { api } = subject;
      const missing = `${subject.namespace}-missing`;
      assertRefused(
        await api.send('POST', pathsOf(missing).configMaps, { body: { metadata: { name: 'c' } } }),
        {
          code: 404,
          reason: 'NotFound',
          message: `namespaces "${missing}" not found`,
        },
      );
      assert.deepEqual((await api.send('GET', pathsOf(missing).configMaps)).body.items, []);
      const name = await newNamespace(subject);
      const { configMaps } = pathsOf(name);
      const held = { metadata: { name: 'held', finalizers: ['conformance.example.com/hold'] } };
      succeeded(await api.send('POST', configMaps, { body: held }));
      const { body } = succeeded(await api.send('DELETE', `/api/v1/namespaces/${name}`));
      assert.deepEqual(
        [body.kind, body.status, body.spec],
        ['Namespace', { phase: 'Terminating' }, { finalizers: ['kubernetes'] }],
      );
      assert.equal(body.metadata.labels['kubernetes.io/metadata.name'], name);
      const causes = assertRefused(
        await api.send('POST', configMaps, { body: { metadata: { name: 'c' } } }),
        forbiddenWith(
          `configmaps "c" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
        ),
      );
      assert.deepEqual(causes, [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${name} is being terminated`,
          field: 'metadata.namespace',
        },
      ]);
      const change = { body: { data: { a: 'b' }, metadata: { finalizers: null } } };
      succeeded(await api.send('PATCH', `${configMaps}/held`, change));
      assertRefused(
        await api.send('DELETE', '/api/v1/namespaces/default'),
        forbiddenWith('namespaces "default" is forbidden: this namespace may not be deleted'),
      );
    },
  },
  {
    title: 'who has no rights is told which right is missing, before anything else',
    async run({ api, namespace }) {
      const { pods, deployments } = pathsOf(namespace);
      const user = newName('jane');
      const here = `in the namespace "${namespace}"`;
      const rows = [
        ['GET', pods, 'pods', `list resource "pods" in API group "" ${here}`],
        ['GET', `${pods}?watch=1`, 'pods', `watch resource "pods" in API group "" ${here}`],
        ['GET', `${pods}/a`, 'pods "a"', `get resource "pods" in API group "" ${here}`],
        ['GET', '/api/v1/pods', 'pods', 'list resource "pods" in API group "" at the cluster scope'],
        ['POST', pods, 'pods', `create resource "pods" in API group "" ${here}`],
        ['PUT', `${pods}/a`, 'pods "a"', `update resource "pods" in API group "" ${here}`],
        ['PATCH', `${pods}/a/status`, 'pods "a"', `patch resource "pods/status" in API group "" ${here}`],
        ['POST', `${pods}/a/eviction`, 'pods "a"', `create resource "pods/eviction" in API group "" ${here}`],
        ['DELETE', `${pods}/a`, 'pods "a"', `delete resource "pods" in API group "" ${here}`],
        ['DELETE', pods, 'pods', `deletecollection resource "pods" in API group "" ${here}`],
        ['GET', deployments, 'deployments.apps', `list resource "deployments" in API group "apps" ${here}`],
        [
          'GET',
          `/apis/none.example.com/v1/namespaces/${namespace}/foos`,
          'foos.none.example.com',
          `list resource "foos" in API group "none.example.com" ${here}`,
        ],
        [
          'GET',
          `/api/v1/namespaces/${namespace}`,
          `namespaces "${namespace}"`,
          `get resource "namespaces" in API group "" ${here}`,
        ],
      ] as const;
      for (const [method, path, what, right] of rows) {
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: { metadata: { name: 'a' } } };
        const answer = await api.send(method, path, { user, ...body });
        assertRefused(answer, forbiddenWith(`${what} is forbidden: User "${user}" cannot ${right}`));
      }
      assert.equal((await api.send('GET', '/version', { user })).code, 200);
    },
  },
  {
    title: 'rights come with a binding and go with it',
    async run({ api, namespace }) {
      const { pods, configMaps } = pathsOf(namespace);
      const user = newName('jim');
      const rights = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
      const rules = [
        { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
        { apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['*'] },
      ];
      succeeded(await api.send('POST', `${rights}/roles`, { body: { metadata: { name: user }, rules } }));
      const apiGroup = 'rbac.authorization.k8s.io';
      const binding = {
        metadata: { name: user },
        roleRef: { apiGroup, kind: 'Role', name: user },
        subjects: [{ kind: 'User', name: user, apiGroup }],
      };
      succeeded(await api.send('POST', `${rights}/rolebindings`, { body: binding }));
      const may = async (method: string, path: string, body?: object) =>
        (await api.send(method, path, { user, ...(body && { body }) })).code !== 403;
      await eventually(() => may('GET', pods));
      const body = { metadata: { name: 'one' } };
      assert.deepEqual(
        [
          await may('GET', `${pods}/x`),
          await may('GET', `${pods}/x/status`),
          await may('GET', '/api/v1/pods'),
          await may('GET', `${configMaps}/one`),
          await may('GET', `${configMaps}/two`),
          await may('GET', configMaps),
          await may('GET', `${configMaps}?fieldSelector=metadata.name%3Done`),
          await may('POST', configMaps, body),
        ],
        [true, false, false, true, false, false, true, false],
      );
      succeeded(await api.send('DELETE', `${rights}/rolebindings/${user}`));
      await eventually(async () => !(await may('GET', pods)));
    },
  },
  {
    title: 'a time limit is a duration',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const create = (timeout: string) =>
        api.send('POST', `${configMaps}?timeout=${timeout}`, { body: { metadata: { name: newName('c') } } });
      for (const timeout of ['4s', '0s', '1m30s', '99h']) succeeded(await create(timeout));
      assertRefused(await create('abc'), {
        code: 400,
        reason: 'BadRequest',
        message: 'invalid timeout specified in the request URL - time: invalid duration "abc"',
      });
    },
  },
  {
    title: 'who has written which data, and when, is told',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const name = newName('c');
      const body = { metadata: { name }, data: { a: '1', b: '1' } };
      succeeded(await api.send('POST', `${configMaps}?fieldManager=one`, { body }));
      const change = { data: { b: '2', c: '2' } };
      const path = `${configMaps}/${name}`;
      const changed = succeeded(await api.send('PATCH', `${path}?fieldManager=two`, { body: change }));
      interface Entry {
        readonly manager: string;
        readonly operation: string;
        readonly time: string;
        readonly fieldsV1: { readonly 'f:data': object };
      }
      const entries: readonly Entry[] = changed.body.metadata.managedFields;
      const told = entries.map(({ manager, operation, time, fieldsV1 }) => {
        assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        const keys = Object.keys(fieldsV1['f:data']).filter((key) => key !== '.');
        return [manager, operation, keys.sort()];
      });
      assert.deepEqual(told.sort(), [
        ['one', 'Update', ['f:a']],
        ['two', 'Update', ['f:b', 'f:c']],
      ]);
      const same = succeeded(await api.send('PATCH', `${path}?fieldManager=three`, { body: change }));
      assert.equal(same.body.metadata.resourceVersion, changed.body.metadata.resourceVersion);
      assert.equal(same.body.metadata.managedFields.length, 2);
    },
  },
  {
    title: 'discovery tells the groups, and what each of them serves',
    async run({ api }) {
      const groups = succeeded(await api.send('GET', '/apis')).body.groups;
      const names = groups.map(({ name }: { name: string }) => name);
      for (const name of ['apps', 'policy', 'conformance.example.com']) assert.ok(names.includes(name), name);
      assert.ok(succeeded(await api.send('GET', '/api')).body.versions.includes('v1'));
      const { body } = succeeded(await api.send('GET', '/apis/conformance.example.com/v1'));
      const [widgets, status] = body.resources;
      assert.deepEqual(
        [widgets.name, widgets.kind, widgets.singularName, widgets.namespaced, status.name],
        ['widgets', 'Widget', 'widget', true, 'widgets/status'],
      );
      for (const verb of [
        'create',
        'delete',
        'deletecollection',
        'get',
        'list',
        'patch',
        'update',
        'watch',
      ]) {
        assert.ok(widgets.verbs.includes(verb), verb);
      }
      assert.deepEqual([...status.verbs].sort(), ['get', 'patch', 'update']);
      const group = succeeded(await api.send('GET', '/apis/conformance.example.com')).body;
      assert.equal(group.preferredVersion.groupVersion, 'conformance.example.com/v1');
      assert.equal((await api.send('GET', '/readyz')).text, 'ok');
      assert.equal((await api.send('GET', '/version')).body.major, '1');
      for (const path of ['/nothing', '/apis/none.example.com', '/apis/none.example.com/v1']) {
        const { code, text } = await api.send('GET', path);
        assert.deepEqual([code, text.trim()], [404, '404 page not found'], path);
      }
      assertRefused(await api.send('GET', '/apis/apps/v1/nothings'), {
        code: 404,
        reason: 'NotFound',
        message: 'the server could not find the requested resource',
      });
    },
  },
];
