/**
 * Conformance of access reviews: whether another user may do something, as it is asked about the author of an At.
 */
import assert from 'node:assert/strict';
import { reviews } from '../../src/at/act/author-check.ts';
import type { RawAnswer } from './raw-requests.ts';
import {
  assertRefused,
  type ConformanceRow,
  eventually,
  newName,
  type Subject,
  succeeded,
} from './subject.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const typeOfReviews = { apiVersion: 'authorization.k8s.io/v1', kind: reviews.kind };

interface Who {
  readonly user?: string;
  readonly groups?: readonly string[];
}

/** What a user wants to do in the namespace of a row. */
interface Deed {
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
}

function pathOfReviews(namespace: string): string {
  return `/apis/authorization.k8s.io/v1/namespaces/${namespace}/${reviews.plural}`;
}

function ask({ api, namespace }: Subject, who: Who, deed: Deed = {}): Promise<RawAnswer> {
  const resourceAttributes = { namespace, verb: 'create', version: 'v1', resource: 'pods', ...deed };
  const body = { ...typeOfReviews, metadata: { namespace }, spec: { ...who, resourceAttributes } };
  return api.send('POST', pathOfReviews(namespace), { body });
}

async function may(subject: Subject, who: Who, deed?: Deed): Promise<boolean> {
  return succeeded(await ask(subject, who, deed)).body.status.allowed;
}

function rightsIn(namespace: string): string {
  return `/apis/${apiGroup}/v1/namespaces/${namespace}`;
}

/** Lets the subject do what these rules say, by a Role and a RoleBinding of one name, which it returns. */
async function grant(
  { api, namespace }: Subject,
  subject: {
    readonly kind: string;
    readonly name: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
  },
  rules: readonly object[] = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
): Promise<string> {
  const metadata = { name: newName('grant') };
  succeeded(await api.send('POST', `${rightsIn(namespace)}/roles`, { body: { metadata, rules } }));
  const roleRef = { apiGroup, kind: 'Role', name: metadata.name };
  const body = { metadata, roleRef, subjects: [subject] };
  succeeded(await api.send('POST', `${rightsIn(namespace)}/rolebindings`, { body }));
  return metadata.name;
}

export const reviewRows: readonly ConformanceRow[] = [
  {
    title:
      'an access review says by which binding a user may do something, and of an unknown user that it may not',
    async run(subject) {
      const { namespace } = subject;
      const user = newName('ann');
      const name = await grant(subject, { kind: 'User', name: user, apiGroup });
      await eventually(() => may(subject, { user }));
      const { code, body } = await ask(subject, { user, groups: ['system:authenticated'] });
      assert.deepEqual(
        [code, body.kind, body.apiVersion],
        [201, typeOfReviews.kind, typeOfReviews.apiVersion],
      );
      assert.deepEqual([body.metadata.namespace, body.metadata.uid], [namespace, undefined]);
      assert.deepEqual(body.spec, {
        resourceAttributes: { namespace, verb: 'create', version: 'v1', resource: 'pods' },
        ...{ user, groups: ['system:authenticated'] },
      });
      assert.deepEqual(body.status, {
        allowed: true,
        reason: `RBAC: allowed by RoleBinding "${name}/${namespace}" of Role "${name}" to User "${user}"`,
      });
      const unknown = await ask(subject, { user: newName('stranger') });
      assert.deepEqual([unknown.code, unknown.body.status], [201, { allowed: false }]);
    },
  },
  {
    title: 'an access review looks at the right in question: its verb, group, resource, subresource and name',
    async run(subject) {
      const user = newName('ann');
      const rules = [
        { apiGroups: [''], resources: ['pods'], verbs: ['create'] },
        { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
        { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['one'], verbs: ['*'] },
      ];
      await grant(subject, { kind: 'User', name: user, apiGroup }, rules);
      await eventually(() => may(subject, { user }));
      const deeds: readonly (readonly [Deed, boolean])[] = [
        [{}, true],
        [{ verb: 'delete' }, false],
        [{ resource: 'configmaps' }, false],
        [{ group: 'apps' }, false],
        [{ name: 'any' }, true],
        [{ subresource: 'eviction', name: 'any' }, true],
        [{ subresource: 'status', name: 'any' }, false],
        [{ verb: 'patch', group: 'apps', resource: 'deployments', name: 'one' }, true],
        [{ verb: 'patch', group: 'apps', resource: 'deployments', name: 'two' }, false],
        [{ verb: 'list', group: 'apps', resource: 'deployments' }, false],
      ];
      for (const [deed, expected] of deeds) {
        assert.equal(await may(subject, { user }, deed), expected, JSON.stringify(deed));
      }
      const other = { ...subject, namespace: `${subject.namespace}-elsewhere` };
      assert.equal(await may(other, { user }), false, 'a RoleBinding counts in its own namespace');
    },
  },
  {
    title: 'an access review takes its word for the groups of a user, and adds none',
    async run(subject) {
      const { namespace } = subject;
      const group = newName('developers');
      const user = `system:serviceaccount:${namespace}:${newName('robot')}`;
      const all = `system:serviceaccounts:${namespace}`;
      const named = await grant(subject, { kind: 'Group', name: group, apiGroup });
      await eventually(() => may(subject, { user: 'ann', groups: ['other', group] }));
      assert.equal(await may(subject, { user: 'ann', groups: ['other'] }), false);
      assert.equal(await may(subject, { user: group }), false, 'a user of the name of a group');
      const nameless = await ask(subject, { groups: [group] });
      assert.equal(
        nameless.body.status.reason,
        `RBAC: allowed by RoleBinding "${named}/${namespace}" of Role "${named}" to Group "${group}"`,
      );
      await grant(subject, { kind: 'Group', name: all, apiGroup });
      await eventually(() => may(subject, { user, groups: [all] }));
      assert.equal(await may(subject, { user }), false);
      const account = { kind: 'ServiceAccount', name: user.split(':')[3] ?? '', namespace };
      const bound = await grant(subject, account);
      await eventually(() => may(subject, { user }));
      assert.equal(
        (await ask(subject, { user })).body.status.reason,
        `RBAC: allowed by RoleBinding "${bound}/${namespace}" of Role "${bound}" to ServiceAccount "${account.name}/${namespace}"`,
      );
      const administrator = await ask(subject, { user: 'ann', groups: ['system:masters'] });
      assert.equal(administrator.body.status.allowed, true);
    },
  },
  {
    title: 'an access review knows of a right that has come, and of one that has gone',
    async run(subject) {
      const { api, namespace } = subject;
      const user = newName('ann');
      const clusterRole = newName('launcher');
      const clusterRoles = `/apis/${apiGroup}/v1/clusterroles`;
      const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }];
      const bindings = `${rightsIn(namespace)}/rolebindings`;
      assert.equal(await may(subject, { user }), false);
      const binding = {
        metadata: { name: user },
        roleRef: { apiGroup, kind: 'ClusterRole', name: clusterRole },
        subjects: [{ kind: 'User', name: user, apiGroup }],
      };
      succeeded(await api.send('POST', bindings, { body: binding }));
      assert.equal(await may(subject, { user }), false);
      succeeded(await api.send('POST', clusterRoles, { body: { metadata: { name: clusterRole }, rules } }));
      await eventually(() => may(subject, { user }));
      const read = { body: { rules: [{ ...rules[0], verbs: ['get'] }] } };
      succeeded(await api.send('PATCH', `${clusterRoles}/${clusterRole}`, read));
      await eventually(async () => !(await may(subject, { user })));
      succeeded(await api.send('PATCH', `${clusterRoles}/${clusterRole}`, { body: { rules } }));
      await eventually(() => may(subject, { user }));
      succeeded(await api.send('DELETE', `${bindings}/${user}`));
      await eventually(async () => !(await may(subject, { user })));
      succeeded(await api.send('DELETE', `${clusterRoles}/${clusterRole}`));
    },
  },
  {
    title: 'an access review needs a user or a group and an act in its own namespace, and has no name',
    async run({ api, namespace }) {
      const resourceAttributes = { namespace, verb: 'create', resource: 'pods' };
      const rows = [
        [
          { resourceAttributes },
          'spec.user: Invalid value: "": at least one of user or group must be specified',
        ],
        [
          { user: 'ann' },
          'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
        ],
        [
          { user: 'ann', resourceAttributes: { ...resourceAttributes, namespace: 'other' } },
          'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
        ],
        [
          { user: 'ann', resourceAttributes: { verb: 'create', resource: 'pods' } },
          'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
        ],
      ] as const;
      const path = pathOfReviews(namespace);
      for (const [spec, why] of rows) {
        const body = { ...typeOfReviews, metadata: { namespace }, spec };
        const answer = await api.send('POST', path, { body });
        // The real server loses the kind here.
        const message = `.authorization.k8s.io "" is invalid: ${why}`;
        const [cause] = assertRefused(answer, { code: 422, reason: 'Invalid', message });
        assert.equal(cause?.field, why.split(': ')[0]);
      }
      const spec = { user: 'ann', resourceAttributes };
      assertRefused(await api.send('POST', path, { body: { metadata: { namespace, name: 'a' }, spec } }), {
        ...{ code: 422, reason: 'Invalid' },
        message: /is invalid: metadata: Invalid value: .*must be empty except for namespace$/,
      });
      assertRefused(await api.send('POST', path, { body: { metadata: { namespace: 'other' }, spec } }), {
        ...{ code: 400, reason: 'BadRequest' },
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      });
    },
  },
  {
    title: 'an access review can only be made, by a user with the right to, and is kept nowhere',
    async run(subject) {
      const { api, namespace } = subject;
      const path = pathOfReviews(namespace);
      const user = newName('ann');
      const resourceAttributes = { namespace, verb: 'create', resource: 'pods' };
      const body = { metadata: { namespace }, spec: { user, resourceAttributes } };
      assertRefused(await api.send('POST', path, { body, user }), {
        ...{ code: 403, reason: 'Forbidden' },
        message: `localsubjectaccessreviews.authorization.k8s.io is forbidden: User "${user}" cannot create resource "localsubjectaccessreviews" in API group "authorization.k8s.io" in the namespace "${namespace}"`,
      });
      for (const method of ['GET', 'DELETE']) {
        assertRefused(await api.send(method, path), {
          ...{ code: 405, reason: 'MethodNotAllowed' },
          message: 'the server does not allow this method on the requested resource',
        });
        assertRefused(await api.send(method, `${path}/a`), {
          ...{ code: 404, reason: 'NotFound' },
          message: 'the server could not find the requested resource',
        });
      }
      const { resources } = succeeded(await api.send('GET', '/apis/authorization.k8s.io/v1')).body;
      const served = resources.filter(({ name }: { name: string }) => name.startsWith(reviews.plural));
      assert.deepEqual(served, [
        {
          ...{ name: reviews.plural, singularName: 'localsubjectaccessreview', namespaced: true },
          ...{ kind: reviews.kind, verbs: ['create'] },
        },
      ]);
    },
  },
];
