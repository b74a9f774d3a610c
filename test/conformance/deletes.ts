/**
 * Conformance of deletes: grace periods, finalizers, propagation, preconditions, collections, owners.
 */
import assert from 'node:assert/strict';
import {
  assertRefused,
  type ConformanceRow,
  newName,
  pathsOf,
  podBody,
  type Subject,
  succeeded,
} from './subject.ts';

type Line = readonly [type: string, generation: number, grace?: number, finalizers?: readonly string[]];

/** What a watch tells of one Pod, from its creation until its end. */
async function eventsOf(subject: Subject, name: string, run: () => Promise<void>): Promise<Line[]> {
  const { api, namespace } = subject;
  const { pods } = pathsOf(namespace);
  const { body } = succeeded(await api.send('GET', pods));
  const from = body.metadata.resourceVersion;
  const query = `watch=1&timeoutSeconds=20&resourceVersion=${from}&fieldSelector=metadata.name%3D${name}`;
  const watch = await api.watch(`${pods}?${query}`);
  await run();
  const events = await watch.until((seen) => seen.at(-1)?.type === 'DELETED');
  watch.close();
  return events.map(({ type, object: { metadata } }) => {
    const line: [string, number, number?, string[]?] = [type, metadata.generation];
    if (metadata.deletionTimestamp !== undefined) line.push(metadata.deletionGracePeriodSeconds);
    if (metadata.finalizers !== undefined) line.push(metadata.finalizers);
    return line;
  });
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

export const deleteRows: readonly ConformanceRow[] = [
  {
    title: 'a Pod on a node is given its grace period, which can only be shortened, and goes with period 0',
    async run(subject) {
      const { api, namespace } = subject;
      const { pods } = pathsOf(namespace);
      const name = newName('p');
      const path = `${pods}/${name}`;
      const events = await eventsOf(subject, name, async () => {
        const created = succeeded(await api.send('POST', pods, { body: podBody(name) }));
        const marked = succeeded(await api.send('DELETE', path));
        assert.equal(marked.body.kind, 'Pod');
        const begun = secondsBetween(
          created.body.metadata.creationTimestamp,
          marked.body.metadata.deletionTimestamp,
        );
        assert.ok(begun >= 30 && begun < 40, `${begun} s`);
        const longer = succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 60 } }));
        assert.equal(longer.body.metadata.resourceVersion, marked.body.metadata.resourceVersion);
        const again = succeeded(await api.send('DELETE', path));
        assert.equal(again.body.metadata.resourceVersion, marked.body.metadata.resourceVersion);
        const shorter = succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 20 } }));
        const { deletionTimestamp } = shorter.body.metadata;
        assert.equal(secondsBetween(deletionTimestamp, marked.body.metadata.deletionTimestamp), 10);
        const last = succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 0 } }));
        assert.equal(last.body.kind, 'Pod');
      });
      assert.deepEqual(events, [
        ['ADDED', 1],
        ['MODIFIED', 2, 30],
        ['MODIFIED', 2, 20],
        ['MODIFIED', 2, 0],
        ['DELETED', 2, 0],
      ]);
    },
  },
  {
    title: 'a Pod that has ended is marked and goes at once',
    async run(subject) {
      const { api, namespace } = subject;
      const { pods } = pathsOf(namespace);
      const name = newName('p');
      const events = await eventsOf(subject, name, async () => {
        succeeded(await api.send('POST', pods, { body: podBody(name) }));
        const status = { status: { phase: 'Succeeded' } };
        succeeded(await api.send('PATCH', `${pods}/${name}/status`, { body: status }));
        succeeded(await api.send('DELETE', `${pods}/${name}`));
      });
      assert.deepEqual(events, [
        ['ADDED', 1],
        ['MODIFIED', 1],
        ['MODIFIED', 2, 0],
        ['DELETED', 2, 0],
      ]);
    },
  },
  {
    title: 'a finalizer holds a Pod of grace period 0; the last event shows it still',
    async run(subject) {
      const { api, namespace } = subject;
      const { pods } = pathsOf(namespace);
      const name = newName('p');
      const path = `${pods}/${name}`;
      const finalizers = ['conformance.example.com/hold'];
      const events = await eventsOf(subject, name, async () => {
        succeeded(await api.send('POST', pods, { body: podBody(name, {}, { finalizers }) }));
        const held = succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 0 } }));
        const again = succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 0 } }));
        assert.equal(again.body.metadata.resourceVersion, held.body.metadata.resourceVersion);
        const another = { metadata: { finalizers: [...finalizers, 'conformance.example.com/more'] } };
        const causes = assertRefused(await api.send('PATCH', path, { body: another }), {
          code: 422,
          reason: 'Invalid',
          message: /no new finalizers can be added if the object is being deleted, found new finalizers/,
        });
        assert.deepEqual(
          causes.map(({ field, reason }) => [field, reason]),
          [['metadata.finalizers', 'FieldValueForbidden']],
        );
        const released = await api.send('PATCH', path, { body: { metadata: { finalizers: null } } });
        assert.equal(succeeded(released).body.metadata.finalizers, undefined);
        assert.equal(released.body.metadata.resourceVersion, held.body.metadata.resourceVersion);
      });
      assert.deepEqual(events, [
        ['ADDED', 1, finalizers],
        ['MODIFIED', 2, 0, finalizers],
        ['DELETED', 2, 0, finalizers],
      ]);
    },
  },
  {
    title: 'a Pod whose finalizer goes within the grace period stays until the period is 0',
    async run(subject) {
      const { api, namespace } = subject;
      const { pods } = pathsOf(namespace);
      const name = newName('p');
      const path = `${pods}/${name}`;
      const finalizers = ['conformance.example.com/hold'];
      succeeded(await api.send('POST', pods, { body: podBody(name, {}, { finalizers }) }));
      succeeded(await api.send('DELETE', path));
      succeeded(await api.send('PATCH', path, { body: { metadata: { finalizers: null } } }));
      assert.equal((await api.send('GET', path)).code, 200);
      succeeded(await api.send('DELETE', path, { body: { gracePeriodSeconds: 0 } }));
      assert.equal((await api.send('GET', path)).code, 404);
    },
  },
  {
    title: 'the propagation policy becomes a finalizer of the garbage collector',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const finalizers = ['conformance.example.com/hold'];
      for (const [propagationPolicy, finalizer] of [
        ['Orphan', 'orphan'],
        ['Foreground', 'foregroundDeletion'],
        ['Background', undefined],
      ] as const) {
        const name = newName('c');
        const path = `${configMaps}/${name}`;
        succeeded(await api.send('POST', configMaps, { body: { metadata: { name, finalizers } } }));
        const { body } = succeeded(await api.send('DELETE', path, { body: { propagationPolicy } }));
        const expected = finalizer === undefined ? finalizers : [...finalizers, finalizer];
        assert.deepEqual(body.metadata.finalizers, expected);
        assert.equal(body.metadata.deletionGracePeriodSeconds, 0);
        // The garbage collector of a real cluster takes its own finalizer off.
        succeeded(await api.send('PATCH', path, { body: { metadata: { finalizers: [] } } }));
      }
      const name = newName('c');
      succeeded(await api.send('POST', configMaps, { body: { metadata: { name } } }));
      const bogus = await api.send('DELETE', `${configMaps}/${name}`, {
        body: { propagationPolicy: 'Bogus' },
      });
      assertRefused(bogus, {
        code: 422,
        reason: 'Invalid',
        message:
          'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
      });
    },
  },
  {
    title: 'a precondition that does not hold is a conflict that names both values',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const name = newName('c');
      const { body } = succeeded(await api.send('POST', configMaps, { body: { metadata: { name } } }));
      const { uid, resourceVersion } = body.metadata;
      const rows = [
        [
          { uid: 'x' },
          `the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
        ],
        [
          { resourceVersion: '1' },
          `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
        ],
      ] as const;
      for (const [preconditions, why] of rows) {
        assertRefused(await api.send('DELETE', `${configMaps}/${name}`, { body: { preconditions } }), {
          code: 409,
          reason: 'Conflict',
          message: `Operation cannot be fulfilled on ConfigMap "${name}": ${why}`,
        });
      }
    },
  },
  {
    title: 'a delete as a dry run is answered as the real one would be',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const name = newName('c');
      const path = `${configMaps}/${name}`;
      const { body } = succeeded(await api.send('POST', configMaps, { body: { metadata: { name } } }));
      for (const answer of [
        await api.send('DELETE', `${path}?dryRun=All`),
        await api.send('DELETE', path, { body: { dryRun: ['All'] } }),
        await api.send('DELETE', path),
      ]) {
        assert.deepEqual(succeeded(answer).body, {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Success',
          details: { name, kind: 'configmaps', uid: body.metadata.uid },
        });
      }
    },
  },
  {
    title: 'a collection is deleted by selector, and told as a list',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const label = newName('row');
      for (const parity of ['even', 'odd', 'even']) {
        const metadata = { name: newName('c'), labels: { row: label, parity } };
        succeeded(await api.send('POST', configMaps, { body: { metadata } }));
      }
      const selector = `labelSelector=row%3D${label}`;
      const deleted = succeeded(await api.send('DELETE', `${configMaps}?${selector},parity%3Deven`));
      assert.equal(deleted.body.kind, 'ConfigMapList');
      assert.equal(deleted.body.items.length, 2);
      assert.equal((await api.send('GET', `${configMaps}?${selector}`)).body.items.length, 1);
    },
  },
  {
    title: 'an ownerReference needs all its parts, and only one may be the controller',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const create = (...ownerReferences: object[]) =>
        api.send('POST', configMaps, { body: { metadata: { name: newName('c'), ownerReferences } } });
      const empty = { apiVersion: 'v1', kind: '', name: '', uid: '' };
      const causes = assertRefused(await create(empty), {
        code: 422,
        reason: 'Invalid',
        message: /must not be empty/,
      });
      assert.deepEqual(
        causes.map(({ field = '' }) => field.replace('[0]', '')).sort(),
        ['kind', 'name', 'uid'].map((part) => `metadata.ownerReferences.${part}`),
      );
      // The words of Kubernetes up to 1.33, up to 1.36, and from 1.37 on, where the field has an index, too.
      const words = /^(Invalid value: "": (\w+ )?must not be empty|Required value: must not be empty)$/;
      for (const { message = '' } of causes) assert.match(message, words);
      const owner = (name: string) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name,
        uid: name,
        controller: true,
      });
      assertRefused(await create(owner('a'), owner('b')), {
        code: 422,
        reason: 'Invalid',
        message:
          /Only one reference can have Controller set to true\. Found "true" in references for ConfigMap\/a and ConfigMap\/b$/,
      });
    },
  },
];
