import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ats } from '../../../src/api/resources.ts';
import { letGo } from '../../../src/at/act/pod-edit.ts';
import { trackingFinalizer } from '../../../src/at/plan/pod.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { accepted, created } from '../../fixtures/at.ts';

const pod = created(accepted());

describe('a Pod that is held for an At that is gone', () => {
  const page = new ApiError('404 page not found', 404, {});
  const orphan = { ...pod, metadata: { ...pod.metadata, finalizers: [trackingFinalizer] } };
  const served = { name: ats.group, versions: [{ version: ats.version }] };

  /** Lets it go where reads of Ats meet a page that says 404. Returns how many patches were sent. */
  async function patchesFor(groups: readonly object[], patch: () => Promise<unknown> = async () => orphan) {
    let patches = 0;
    const documents: Record<string, unknown> = {
      '/readyz': 'ok',
      '/apis': { kind: 'APIGroupList', groups },
      [`/apis/${ats.group}/${ats.version}`]: { kind: 'APIResourceList', resources: [{ name: ats.plural }] },
    };
    const client = {
      get: () => Promise.reject(page),
      getRaw: async (path: string) => documents[path],
      patch: () => {
        patches += 1;
        return patch();
      },
    };
    const key = { namespace: 'shop', name: 'example-at' };
    await letGo(client as unknown as Client, key, [orphan], new AbortController().signal);
    return patches;
  }

  it('is let go when discovery shows that the CRD is gone, too', async () => {
    assert.equal(await patchesFor([]), 1);
  });

  it('is kept while the kind is served: the page may be that of a proxy', async () => {
    await assert.rejects(patchesFor([served]), page);
  });

  it('is tried again when a proxy answers the patch', async () => {
    await assert.rejects(
      patchesFor([], () => Promise.reject(page)),
      page,
    );
  });
});
