import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AtStatus } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { reviews } from '../../../src/at/act/author-check.ts';
import { launchClient } from '../../../src/at/act/launch-client.ts';
import { releaseOperations, untrackOperations } from '../../../src/at/decide/exactly-once.ts';
import { configMaps, pods } from '../../../src/kubernetes/objects.ts';
import type { Client } from '../../../src/runtime/client/client.ts';

import { accepted, created } from '../../fixtures/at.ts';

const key = { namespace: 'default', name: 'a' };
const pod = created(accepted({ launchGuarantee: 'ExactlyOnce' }));

function limited() {
  const sent: string[] = [];
  const verbs = [
    'get',
    'list',
    'watch',
    'create',
    'update',
    'updateStatus',
    'patch',
    'patchStatus',
    'delete',
  ];
  const send = (verb: string) => (resource: { plural: string }) => {
    sent.push(`${verb} ${resource.plural}`);
    return Promise.resolve({});
  };
  const client = Object.fromEntries(verbs.map((verb) => [verb, send(verb)]));
  const own = { ...client, evict: () => send('evict')(pods), getRaw: () => Promise.resolve({}) };
  return { sent, client: launchClient(own as unknown as Client) };
}

test('reads, creates, the review, the record and the release are sent', async () => {
  const { sent, client } = limited();
  const recorded = { metadata: { resourceVersion: '7' }, status: { phase: 'RUNNING', podUID: 'u' } } as const;
  await client.get(ats, key);
  await client.list(pods);
  await client.create(pods, pod);
  await client.create(reviews, { metadata: { name: '' }, spec: {} });
  await client.patchStatus(ats, key, { type: 'merge', body: recorded });
  await client.patch(pods, key, { type: 'json', operations: releaseOperations(pod) });
  assert.deepEqual(sent, [
    'get ats',
    'list pods',
    'create pods',
    'create localsubjectaccessreviews',
    'patchStatus ats',
    'patch pods',
  ]);
});

test('nothing else leaves the process', async () => {
  const { sent, client } = limited();
  const refused = (write: Promise<unknown>) =>
    assert.rejects(write, /^NotALaunchError: not sent: a standby launches/);
  const status = { phase: 'RUNNING', podUID: 'u' } as const;
  const merge = <B extends object>(body: B) => ({ type: 'merge', body }) as const;
  await refused(client.create(configMaps, { metadata: { name: 'a' } }));
  await refused(client.delete(pods, key));
  await refused(client.evict(key, {}));
  await refused(client.update(pods, pod));
  await refused(client.updateStatus(ats, accepted()));
  await refused(client.patch(ats, key, merge({ spec: {} })));
  await refused(client.patch(pods, key, merge({ spec: { activeDeadlineSeconds: 1 } })));
  await refused(client.patch(pods, key, { type: 'json', operations: untrackOperations(pod) }));
  const unguarded = releaseOperations(pod).filter(({ path }) => path !== '/metadata/uid');
  await refused(client.patch(pods, key, { type: 'json', operations: unguarded }));
  const more = [...releaseOperations(pod), ...untrackOperations(pod)];
  await refused(client.patch(pods, key, { type: 'json', operations: more }));
  await refused(
    client.patchStatus(
      pods,
      key,
      merge({ metadata: { resourceVersion: '7' }, status: { ...status, phase: 'Running' } as const }),
    ),
  );
  await refused(client.patchStatus(ats, key, merge({ status })));
  for (const other of [{ phase: 'DONE', podUID: 'u' }, { phase: 'RUNNING' }, { reason: 'PodRejected' }]) {
    await refused(
      client.patchStatus(ats, key, merge({ metadata: { resourceVersion: '7' }, status: other as AtStatus })),
    );
  }
  assert.deepEqual(sent, []);
});
